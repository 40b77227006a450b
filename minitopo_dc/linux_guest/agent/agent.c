/*
 * The first program of the guest: both end hosts of one flow, or what starts programs that are.
 *
 * The server has the kernel's first network and card 0, the client another network and all further
 * cards, one for each leg. A proxy between them has a third network and the last card. What they do
 * is in /orders; what became of it is reported as frames.
 *
 * As `agent proxy FILE` it is the proxy alone, an ordinary program on a host that is set up.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_TABLE 100 /* of routes; a card's number is added */
#define LAST_WORDS_S 3	/* for the server to learn of the client's end, as the real server's CLOSE_S */

/* As Linux has them with 16 GB (tcp_init); from so little memory as a guest has it would derive less. */
static const char *const settings[][2] = {
	{ "/proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456" },
	{ "/proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304" },
};
#define TCP_MEMORY "188220 250960 376440"

/* The name of a card, until the next call. */
static const char *name_of(int card)
{
	static char name[IFNAMSIZ];

	snprintf(name, sizeof name, "eth%d", card);
	return name;
}

static void set_all(const struct orders *o)
{
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		put(settings[i][0], settings[i][1]);
	for (int i = 0; i < o->settings; i++)
		put(o->setting[i].file, o->setting[i].value);
	if (o->multipath)
		set_subflow_limit(o->subflows);
	if (!o->programs)
		return;
	link_up("lo");
	if (o->congestion_control[0])
		put("/proc/sys/net/ipv4/tcp_congestion_control", o->congestion_control);
}

/* Packets are seen as they arrive, as on a wire: of several at once none are made one (GRO). */
static void separate_packets(const char *name)
{
	struct ethtool_value off = { ETHTOOL_SGRO, 0 };
	struct ifreq request = { .ifr_data = (void *)&off };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(request.ifr_name, name, IFNAMSIZ);
	if (ioctl(s, SIOCETHTOOL, &request))
		die("ETHTOOL_SGRO");
	close(s);
}

static void set_up_card(int card, const struct sockaddr_storage *address)
{
	const char *name = name_of(card);
	char file[80];

	snprintf(file, sizeof file, "/proc/sys/net/ipv6/conf/%s/addr_gen_mode", name);
	put(file, "1"); /* no address of its own, whose announcements would be packets */
	separate_packets(name);
	link_up(name);
	add_address(name, address);
}

static void reach(const char *name, const struct sockaddr_storage *address)
{
	add_route(name, address, NULL, RT_TABLE_MAIN);
	add_neighbour(name, address);
}

static void set_up_server(const struct orders *o)
{
	set_up_card(0, &o->server);
	if (o->proxy.ss_family)
		reach("eth0", &o->proxy);
	for (int card = 1; card <= o->clients && !o->proxy.ss_family; card++)
		reach("eth0", &o->client[card]);
	set_all(o);
}

static void set_up_proxy(const struct orders *o)
{
	const char *name = name_of(o->clients + 1);

	set_up_card(o->clients + 1, &o->proxy);
	reach(name, &o->server);
	for (int card = 1; card <= o->clients; card++)
		reach(name, &o->client[card]);
	set_all(o);
	report_by(name);
}

static void set_up_client(const struct orders *o)
{
	for (int card = 1; card <= o->clients; card++) {
		const char *name = name_of(card);

		set_up_card(card, &o->client[card]);
		add_route(name, peer(o), &o->client[card], FIRST_TABLE + card);
		add_rule(&o->client[card], FIRST_TABLE + card);
		add_neighbour(name, peer(o));
	}
	add_route(name_of(o->first), peer(o), &o->client[o->first], RT_TABLE_MAIN);
	set_all(o);
}

static void make_change(const struct orders *o, int number)
{
	const struct change *c = &o->change[number];

	errno = endpoint(c->action, c->card, &o->client[c->card], name_of(c->card));
	if (errno)
		die("change of an MPTCP endpoint");
	if (c->at)
		report("changed %d %ld", number, now());
}

/* Make the changes that are due once the connection is there. */
static void make_changes(const struct orders *o, int connected)
{
	char byte;

	if (o->programs)
		wait_for_connection(o);
	else if (read(connected, &byte, 1) != 1)
		exit(0); /* it never was */
	for (int i = 0; i < o->changes; i++)
		if (o->change[i].at) {
			sleep_until(o->change[i].at);
			make_change(o, i);
		}
	exit(0);
}

static int changes_later(const struct orders *o)
{
	return o->changes && o->change[o->changes - 1].at;
}

/* The client's host. */
static void be_client(const struct orders *o, int told)
{
	int connected[2];

	set_up_client(o);
	report_by("eth1");
	for (int i = 0; i < o->changes; i++)
		if (!o->change[i].at)
			make_change(o, i);
	if (pipe2(connected, O_CLOEXEC))
		die("pipe");
	if (changes_later(o) && !fork()) {
		close(connected[1]);
		make_changes(o, connected[0]);
	}
	if (o->programs) {
		wait_for_byte(told);
		run_client_program(o);
	} else {
		run_client(o, connected[1]);
	}
}

static void be_proxy(const struct orders *o, int told)
{
	(void)told;
	set_up_proxy(o);
	run_proxy(o);
}

/* Begin a host with some of the cards, a process with a network of its own; a byte to `telling` has it go on. */
static pid_t begin_host(const struct orders *o, void (*be)(const struct orders *o, int told), int *telling, int first,
			int last)
{
	int to_host[2], from_host[2];
	pid_t pid;

	if (pipe2(to_host, O_CLOEXEC) || pipe2(from_host, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET))
			die("unshare");
		tell(from_host[1]);
		wait_for_byte(to_host[0]);
		be(o, to_host[0]);
		exit(0);
	}
	wait_for_byte(from_host[0]);
	for (int card = first; card <= last; card++)
		link_to(name_of(card), pid);
	*telling = to_host[1];
	return pid;
}

/* Serve until the client has ended and the server has learned of it. */
static void be_server(const struct orders *o, pid_t client)
{
	pid_t ended, server = fork();

	if (!server) {
		run_server(o);
		exit(0);
	}
	heed(SIGALRM);
	while ((ended = wait(NULL)) != server) {
		if (ended == client)
			alarm(LAST_WORDS_S);
		else if (ended < 0 && errno == EINTR)
			kill(server, SIGTERM);
		else if (ended < 0)
			die("wait");
	}
	waitpid(client, NULL, 0);
}

int main(int count, char **words)
{
	struct orders *o;
	int to_client, to_proxy;
	pid_t client;

	if (count == 3 && !strcmp(words[1], "proxy")) {
		run_proxy(read_orders(words[2]));
		return 0;
	}
	if (mount("proc", "/proc", "proc", 0, NULL))
		die("mount");
	prctl(PR_SET_TIMERSLACK, 1); /* ns: who sleeps until a moment wakes then */
	o = read_orders("/orders");
	put("/proc/sys/net/ipv4/tcp_mem", TCP_MEMORY);
	if (o->programs) {
		put("/proc/sys/net/ipv4/tcp_allowed_congestion_control", "reno cubic bbr");
		prepare_root();
	}
	client = begin_host(o, be_client, &to_client, 1, o->clients);
	if (o->proxy.ss_family) {
		begin_host(o, be_proxy, &to_proxy, o->clients + 1, o->clients + 1);
		tell(to_proxy);
	}
	set_up_server(o);
	report_by("eth0");
	tell(to_client);
	if (o->programs)
		run_programs(o, client, to_client);
	else
		be_server(o, client);
	report("done %ld", now());
	pause(); /* whoever runs the guest ends it */
}
