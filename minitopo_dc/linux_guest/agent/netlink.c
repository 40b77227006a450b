/* Links, addresses, routes and MPTCP endpoints, by netlink: the guest has no programs but the agent. */
#include "agent.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/fib_rules.h>
#include <linux/mptcp.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEER_MAC { 0x02, 0, 0, 0, 0xff, 0xff } /* cards.c of the controller has it, too */

struct request {
	struct nlmsghdr header;
	char body[512];
};

static void *append(struct request *r, const void *what, size_t bytes)
{
	void *at = (char *)r + NLMSG_ALIGN(r->header.nlmsg_len);

	memcpy(at, what, bytes);
	r->header.nlmsg_len = NLMSG_ALIGN(r->header.nlmsg_len) + bytes;
	return at;
}

static struct request begin(int type, int flags, const void *body, size_t bytes)
{
	struct request r = { .header = { .nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = type } };

	r.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	append(&r, body, bytes);
	return r;
}

static struct rtattr *attribute(struct request *r, int type, const void *value, size_t bytes)
{
	struct rtattr head = { RTA_LENGTH(bytes), type };
	struct rtattr *at = append(r, &head, sizeof head);

	append(r, value, bytes);
	return at;
}

static void end_nested(struct request *r, struct rtattr *nested)
{
	nested->rta_len = (char *)r + r->header.nlmsg_len - (char *)nested;
}

/* Send a request; `answer` has the kernel's. 0, or its error. */
static int ask(int protocol, const struct request *r, struct request *answer)
{
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	struct nlmsgerr *error = (void *)answer->body;
	ssize_t got = -1;

	if (s >= 0 && send(s, r, r->header.nlmsg_len, 0) >= 0)
		got = recv(s, answer, sizeof *answer, 0);
	close(s);
	if (got < 0)
		return errno;
	return answer->header.nlmsg_type == NLMSG_ERROR ? -error->error : 0;
}

static void order(const struct request *r, const char *what)
{
	struct request answer;

	errno = ask(NETLINK_ROUTE, r, &answer);
	if (errno)
		die(what);
}

static int index_of(const char *name)
{
	int index = if_nametoindex(name);

	if (!index)
		die(name);
	return index;
}

static void add_bytes(struct request *r, int type, const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6)
		attribute(r, type, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(struct in6_addr));
	else
		attribute(r, type, &((const struct sockaddr_in *)address)->sin_addr, sizeof(struct in_addr));
}

static void add_number(struct request *r, int type, uint32_t number)
{
	attribute(r, type, &number, sizeof number);
}

static int length_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? 128 : 32;
}

void link_to(const char *name, pid_t network_of)
{
	struct ifinfomsg body = { .ifi_index = index_of(name) };
	struct request r = begin(RTM_NEWLINK, 0, &body, sizeof body);

	add_number(&r, IFLA_NET_NS_PID, network_of);
	order(&r, "link_to");
}

void link_up(const char *name)
{
	struct ifinfomsg body = { .ifi_index = index_of(name), .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	struct request r = begin(RTM_NEWLINK, 0, &body, sizeof body);

	order(&r, "link_up");
}

void add_address(const char *name, const struct sockaddr_storage *address)
{
	struct ifaddrmsg body = {
		.ifa_family = address->ss_family,
		.ifa_prefixlen = length_of(address),
		.ifa_flags = IFA_F_NODAD,
		.ifa_index = index_of(name),
	};
	struct request r = begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);

	add_bytes(&r, IFA_LOCAL, address);
	add_bytes(&r, IFA_ADDRESS, address);
	order(&r, "add_address");
}

void add_neighbour(const char *name, const struct sockaddr_storage *address)
{
	struct ndmsg body = {
		.ndm_family = address->ss_family,
		.ndm_ifindex = index_of(name),
		.ndm_state = NUD_PERMANENT,
	};
	struct request r = begin(RTM_NEWNEIGH, NLM_F_CREATE, &body, sizeof body);
	unsigned char mac[] = PEER_MAC;

	add_bytes(&r, NDA_DST, address);
	attribute(&r, NDA_LLADDR, mac, sizeof mac);
	order(&r, "add_neighbour");
}

void add_route(const char *name, const struct sockaddr_storage *to, const struct sockaddr_storage *source, int table)
{
	struct rtmsg body = {
		.rtm_family = to->ss_family,
		.rtm_dst_len = length_of(to),
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_LINK,
		.rtm_type = RTN_UNICAST,
	};
	struct request r = begin(RTM_NEWROUTE, NLM_F_CREATE, &body, sizeof body);

	add_bytes(&r, RTA_DST, to);
	add_number(&r, RTA_OIF, index_of(name));
	add_number(&r, RTA_TABLE, table);
	if (source)
		add_bytes(&r, RTA_PREFSRC, source);
	order(&r, "add_route");
}

void add_rule(const struct sockaddr_storage *source, int table)
{
	struct fib_rule_hdr body = {
		.family = source->ss_family,
		.src_len = length_of(source),
		.action = FR_ACT_TO_TBL,
	};
	struct request r = begin(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);

	add_bytes(&r, FRA_SRC, source);
	add_number(&r, FRA_TABLE, table);
	order(&r, "add_rule");
}

/* The number of a family of generic netlink, 0: the kernel has none of this name. */
static int family_of(const char *name)
{
	struct genlmsghdr body = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	struct request r = begin(GENL_ID_CTRL, 0, &body, sizeof body), answer;
	char *at, *end;

	attribute(&r, CTRL_ATTR_FAMILY_NAME, name, strlen(name) + 1);
	if (ask(NETLINK_GENERIC, &r, &answer))
		return 0;
	end = (char *)&answer + answer.header.nlmsg_len;
	for (at = answer.body + GENL_HDRLEN; at < end; at += RTA_ALIGN(((struct rtattr *)at)->rta_len))
		if (((struct rtattr *)at)->rta_type == CTRL_ATTR_FAMILY_ID)
			return *(uint16_t *)RTA_DATA((struct rtattr *)at);
	return 0;
}

static struct request to_path_manager(int command)
{
	struct genlmsghdr body = { .cmd = command, .version = MPTCP_PM_VER };

	return begin(family_of(MPTCP_PM_NAME), 0, &body, sizeof body);
}

void set_subflow_limit(int subflows)
{
	struct request r = to_path_manager(MPTCP_PM_CMD_SET_LIMITS), answer;

	add_number(&r, MPTCP_PM_ATTR_RCV_ADD_ADDRS, 0);
	add_number(&r, MPTCP_PM_ATTR_SUBFLOWS, subflows);
	errno = ask(NETLINK_GENERIC, &r, &answer);
	if (errno)
		die("set_subflow_limit");
}

/* Change an endpoint of the client: `add` takes all, the others an identifier. 0, or the kernel's error. */
int endpoint(enum action action, int id, const struct sockaddr_storage *address, const char *name)
{
	static const int commands[] = {
		[ADD_ENDPOINT] = MPTCP_PM_CMD_ADD_ADDR,	    [DELETE_ENDPOINT] = MPTCP_PM_CMD_DEL_ADDR,
		[DELETE_INITIAL] = MPTCP_PM_CMD_DEL_ADDR, [SET_BACKUP] = MPTCP_PM_CMD_SET_FLAGS,
		[SET_AVAILABLE] = MPTCP_PM_CMD_SET_FLAGS,
	};
	struct request r = to_path_manager(commands[action]), answer;
	struct rtattr *nested = attribute(&r, MPTCP_PM_ATTR_ADDR | NLA_F_NESTED, NULL, 0);
	uint8_t number = action == DELETE_INITIAL ? 0 : id;
	uint16_t family = address->ss_family;
	uint32_t flags = action == SET_BACKUP ? MPTCP_PM_ADDR_FLAG_BACKUP : 0;

	attribute(&r, MPTCP_PM_ADDR_ATTR_ID, &number, sizeof number);
	if (action == ADD_ENDPOINT || action == DELETE_INITIAL) {
		attribute(&r, MPTCP_PM_ADDR_ATTR_FAMILY, &family, sizeof family);
		add_bytes(&r, family == AF_INET6 ? MPTCP_PM_ADDR_ATTR_ADDR6 : MPTCP_PM_ADDR_ATTR_ADDR4, address);
	}
	if (action == ADD_ENDPOINT) {
		flags = MPTCP_PM_ADDR_FLAG_SUBFLOW;
		add_number(&r, MPTCP_PM_ADDR_ATTR_IF_IDX, index_of(name));
	}
	if (action != DELETE_ENDPOINT && action != DELETE_INITIAL)
		add_number(&r, MPTCP_PM_ADDR_ATTR_FLAGS, flags);
	end_nested(&r, nested);
	return ask(NETLINK_GENERIC, &r, &answer);
}
