/*
 * Programs of the machine's file system on both hosts, and what they print.
 *
 * Their root is the machine's, which they cannot write to; the run's directory they can. What they
 * print, and how they end, is reported at the moment at which it happens.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT "/host"
#define LONGEST_PATH 4096
#define LOOK_NS 5000000 /* between two looks for a socket, as on the real clock */
#define LONG_LOOK_NS 100000000 /* the same for one that is long in coming */
#define MOMENT_NS 500000000ll /* a server of which nothing else is known is ready then, as on the real clock */
#define READY_NS (30 * NS_PER_S) /* after which a server is given up, as on the real clock */
#define TCP_ESTABLISHED 1
#define TCP_LISTEN 10

enum place { WORKING, WRITABLE }; /* words of /places */

/* The words of a file, behind each of which is a NUL, and a NULL; NULL where there is no such file. */
static char **words_of(const char *file)
{
	size_t bytes = 0, count = 0;
	char *text = contents(file, &bytes), *at = text;
	char **words = text ? calloc(bytes + 1, sizeof *words) : NULL;

	for (; at < text + bytes; at += strlen(at) + 1)
		words[count++] = at;
	return words;
}

static void mounted(const char *where, const char *type, unsigned long flags, const char *options)
{
	if (mount(type, where, type, flags, options))
		die(where);
}

static void make_directories(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		mkdir(path, 0755);
		*at = '/';
	}
	mkdir(path, 0755);
}

/* The machine's files, but for what a kernel has of its own. */
void prepare_root(void)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", ROOT "/dev/fd" },
		{ "/proc/self/fd/0", ROOT "/dev/stdin" },
		{ "/proc/self/fd/1", ROOT "/dev/stdout" },
		{ "/proc/self/fd/2", ROOT "/dev/stderr" },
	};
	char path[LONGEST_PATH], *writable = words_of("/places")[WRITABLE];

	mounted(ROOT, "hostfs", MS_RDONLY, "/");
	mounted(ROOT "/proc", "proc", 0, NULL);
	mounted(ROOT "/sys", "sysfs", 0, NULL);
	mounted(ROOT "/dev", "devtmpfs", 0, NULL);
	if (mkdir(ROOT "/dev/shm", 0777) && errno != EEXIST)
		die("/dev/shm");
	mounted(ROOT "/dev/shm", "tmpfs", 0, "mode=1777");
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (symlink(links[i][0], links[i][1]) && errno != EEXIST)
			die(links[i][1]);
	snprintf(path, sizeof path, "%s%s", ROOT, writable);
	make_directories(path); /* where the machine's are hidden, as below /dev/shm */
	mounted(path, "hostfs", 0, writable);
}

/* In a new process: be a program. */
static void become(char **words, int output, int errors)
{
	char **places = words_of("/places");
	sigset_t none;
	int null;

	environ = words_of("/environment");
	sigemptyset(&none);
	if (chroot(ROOT) || chdir(places[WORKING]) || (null = open("/dev/null", O_RDWR)) < 0 ||
	    dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0 || sigprocmask(SIG_SETMASK, &none, NULL))
		die(places[WORKING]);
	close(null);
	execvp(words[0], words);
	dprintf(2, "%s: %s\n", words[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Report what there is to read; whether there was something, and -1 at the end. */
static int relay(const char *role, int number, int from)
{
	char piece[OUTPUT_BYTES];
	ssize_t got = read(from, piece, sizeof piece);

	if (got > 0)
		report_output(role, number, piece, got);
	return got > 0 ? 1 : got < 0 && errno == EAGAIN ? 0 : -1;
}

/* Report what a program prints until it ends; when it is told to, it is killed later. Its status of wait(2). */
static int watch(const struct orders *o, const char *role, pid_t pid, const int from[2])
{
	struct pollfd p[] = { { from[0], POLLIN, 0 }, { from[1], POLLIN, 0 }, { 0, POLLIN, 0 } };
	int64_t kill_at = NEVER;
	int status, busy;
	sigset_t none;

	sigemptyset(&none);
	p[2].fd = syscall(SYS_pidfd_open, pid, 0);
	do {
		int64_t left = kill_at - now();

		if (signalled) {
			signalled = 0;
			kill(pid, o->stop_signal);
			kill_at = now() + (left = o->patience);
		} else if (left <= 0) {
			kill(pid, SIGKILL);
			kill_at = NEVER;
		}
		wait_for(p, 3, kill_at == NEVER ? NEVER : left, &none);
		busy = 0;
		for (int i = 0; i < 2; i++) {
			int got = p[i].fd < 0 ? 0 : relay(role, i + 1, p[i].fd);

			busy |= got > 0;
			if (got < 0)
				p[i].fd = -1;
		}
	} while (busy || !p[2].revents);
	close(p[2].fd);
	waitpid(pid, &status, 0);
	return status;
}

/* Run a program to its end. */
static void run(const struct orders *o, const char *role, char **words)
{
	int output[2], errors[2], status;
	sigset_t term;
	pid_t pid;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	heed(SIGTERM);
	if (pipe2(output, O_CLOEXEC) || pipe2(errors, O_CLOEXEC) || (pid = fork()) < 0)
		die("pipe");
	if (!pid)
		become(words, output[1], errors[1]);
	close(output[1]);
	close(errors[1]);
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	fcntl(errors[0], F_SETFL, O_NONBLOCK);
	status = watch(o, role, pid, (int[]){ output[0], errors[0] });
	report("ended %s %ld %d", role, now(), WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
}

/* Whether this network has a socket: one that is bound to a port, or connected to one. */
static int has_socket(const char *table, int local, int remote, unsigned state)
{
	unsigned from, to, now_in;
	char path[40], line[256];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/net/%s", table);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%x %x", &from, &to, &now_in) == 3)
			found |= (!local || (int)from == local) && (!remote || (int)to == remote) &&
				 (!state || now_in == state);
	if (f)
		fclose(f);
	return found;
}

static int is_bound(int port)
{
	return has_socket("tcp", port, 0, TCP_LISTEN) || has_socket("tcp6", port, 0, TCP_LISTEN) ||
	       has_socket("udp", port, 0, 0) || has_socket("udp6", port, 0, 0);
}

/* Wait until a connection to the server's port is there. */
void wait_for_connection(const struct orders *o)
{
	int port = ntohs(((struct sockaddr_in *)&o->server)->sin_port);

	while (!has_socket("tcp", 0, port, TCP_ESTABLISHED) && !has_socket("tcp6", 0, port, TCP_ESTABLISHED))
		sleep_until(now() + LOOK_NS);
}

/* Wait until the server has bound its port, or lived for a moment; it may end before. */
static void wait_until_ready(const struct orders *o, pid_t server)
{
	int64_t begun = now(), look = LOOK_NS;

	if (!o->ready_port) {
		sleep_until(begun + MOMENT_NS);
		return;
	}
	while (!is_bound(o->ready_port) && !waitpid(server, NULL, WNOHANG)) {
		if (now() > begun + READY_NS) {
			report("late %ld", now());
			return;
		}
		sleep_until(now() + look);
		look = look < LONG_LOOK_NS ? 2 * look : look;
	}
}

void run_client_program(const struct orders *o)
{
	sleep_until(o->begin);
	report("begin %ld", now());
	run(o, "client", words_of("/client"));
}

/* Both programs from start to end; the client's host, a process, waits for a byte before it begins. */
void run_programs(const struct orders *o, pid_t client, int to_client)
{
	char **words = words_of("/server");
	pid_t server = 0;

	if (words && !(server = fork())) {
		run(o, "server", words);
		exit(0);
	}
	if (server)
		wait_until_ready(o, server);
	report("ready %ld", now());
	tell(to_client);
	waitpid(client, NULL, 0);
	if (server) {
		kill(server, SIGTERM);
		waitpid(server, NULL, 0);
	}
	kill(-1, SIGKILL); /* what they have left; its files are written when it has ended */
	while (wait(NULL) > 0)
		;
	sync();
}
