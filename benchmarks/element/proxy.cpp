// A plain UDP proxy, as one writes it first: epoll, and one datagram a call in each direction.
//   proxy PORT NEXT_ADDRESS NEXT_PORT
// It listens on PORT and passes datagrams on; answers go to who sent last. It prints `ready`.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int buffer_bytes = 256 << 20;

sockaddr_in address_of(const std::string &ip, int port)
{
    sockaddr_in found{};
    found.sin_family = AF_INET;
    found.sin_port = htons(static_cast<std::uint16_t>(port));
    if (inet_pton(AF_INET, ip.c_str(), &found.sin_addr) != 1)
        throw std::runtime_error("no IPv4 address: " + ip);
    return found;
}

class Endpoint {
public:
    Endpoint() : descriptor(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0))
    {
        if (descriptor < 0)
            throw std::runtime_error("socket");
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof(buffer_bytes));
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &buffer_bytes, sizeof(buffer_bytes));
    }

    const int descriptor;
};

class Proxy {
public:
    Proxy(int port, const sockaddr_in &next) : poll(epoll_create1(0)), bytes(65536)
    {
        const auto own = address_of("0.0.0.0", port);
        if (bind(near.descriptor, reinterpret_cast<const sockaddr *>(&own), sizeof(own)) != 0 ||
            connect(far.descriptor, reinterpret_cast<const sockaddr *>(&next), sizeof(next)) != 0)
            throw std::runtime_error("bind or connect");
        watch(near.descriptor);
        watch(far.descriptor);
    }

    [[noreturn]] void run()
    {
        for (;;) {
            epoll_event events[2];
            const int count = epoll_wait(poll, events, 2, -1);
            for (int i = 0; i < count; i++)
                events[i].data.fd == near.descriptor ? forward() : answer();
        }
    }

private:
    void watch(int descriptor)
    {
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        wanted.data.fd = descriptor;
        epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &wanted);
    }

    void forward()
    {
        socklen_t length = sizeof(last);
        const auto size = recvfrom(near.descriptor, bytes.data(), bytes.size(), 0,
                                   reinterpret_cast<sockaddr *>(&last), &length);
        if (size >= 0)
            (void)!send(far.descriptor, bytes.data(), static_cast<std::size_t>(size), 0);
    }

    void answer()
    {
        const auto size = recv(far.descriptor, bytes.data(), bytes.size(), 0);
        if (size >= 0)
            sendto(near.descriptor, bytes.data(), static_cast<std::size_t>(size), 0,
                   reinterpret_cast<const sockaddr *>(&last), sizeof(last));
    }

    Endpoint near, far;
    int poll;
    std::vector<char> bytes;
    sockaddr_in last{};
};

} // namespace

int main(int count, char **words)
{
    if (count != 4) {
        std::fputs("proxy PORT NEXT_ADDRESS NEXT_PORT\n", stderr);
        return 2;
    }
    Proxy proxy(std::atoi(words[1]), address_of(words[2], std::atoi(words[3])));
    std::puts("ready");
    std::fflush(stdout);
    proxy.run();
}
