/* The sockets of the clock and the cards, and what is said when one breaks. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int gone(struct guest *g, const char *reason)
{
	if (!g->reason[0])
		snprintf(g->reason, sizeof g->reason, "%s", reason);
	return GUEST_GONE;
}

int listen_at(int directory, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* However long the directory's name is. */
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory, name);
	unlinkat(directory, name, 0);
	if (s >= 0 && !bind(s, (void *)&address, sizeof address) && !listen(s, 1))
		return s;
	if (s >= 0)
		close(s);
	return -1;
}

/* Receive so many bytes, and the files that come with them. 0, or -1. */
int receive(int from, void *to, size_t bytes, int *files, unsigned *count)
{
	char control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec where = { to, bytes };
	struct msghdr header = {
		.msg_iov = &where, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control,
	};
	ssize_t got;

	*count = 0;
	do
		got = recvmsg(from, &header, MSG_WAITALL | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)bytes)
		return -1;
	for (struct cmsghdr *each = CMSG_FIRSTHDR(&header); each; each = CMSG_NXTHDR(&header, each))
		if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS) {
			*count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(files, CMSG_DATA(each), *count * sizeof(int));
		}
	return 0;
}

int send_all(int to, const void *what, size_t bytes)
{
	return send(to, what, bytes, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : -1;
}
