/* The only process of the kernel: hosts as network namespaces, and the sockets of their flows.
 *
 * The simulator commands it by Ethernet frames of a type of its own, which arrive at the card of the host that they are
 * for; answers leave by the same card. So a command is carried out at the nanosecond at which its frame arrives, and an
 * answer has the time of the kernel's clock. Numbers are little-endian. A frame has 14 bytes of Ethernet header, the
 * operation (1 byte), the flow (4 bytes), and what the operation needs.
 *
 * Each host, each writer and each reader is a thread that waits in a system call. A return to the program is what costs
 * most in User Mode Linux: a blocking call that is not finished returns for no packet. The kernel has one processor, and
 * a thread keeps it until it waits: no interrupt comes while the kernel runs. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* IEEE 802 local experimental EtherType 1. */
#define ETHER_TYPE 0x88b5
#define HEADER 14
#define MOST_HOSTS 256
#define MOST_FLOWS 4096
#define UNLIMITED UINT64_MAX

enum command { SET_UP = 1, LISTEN, CONNECT, WRITE, STOP, SAMPLE, COUNT };
enum answer { READY = 128, DONE, SAMPLED, COUNTED, FAILED, READ, WROTE };

struct host {
	int namespace, control;
	unsigned card;
};

/* The sender's end of a connection: what is left to be written, what was, and the thread that writes it. */
struct writer {
	int socket, stops, leaves;
	unsigned host;
	uint32_t flow;
	struct sockaddr_in to;
	uint64_t left, written;
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t thread;
};

struct flow {
	struct writer *writer;
	/* Takes the connections, on this host; whether it is told what is read of them. */
	int listener, tells;
	unsigned host;
};

static struct host hosts[MOST_HOSTS];
static struct flow flows[MOST_FLOWS];
/* The host of this thread. */
static __thread unsigned here;

static void answer(enum answer kind, uint32_t flow, const void *data, size_t length)
{
	unsigned char frame[1500] = { 0 };
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETHER_TYPE),
				  .sll_ifindex = (int)hosts[here].card };

	frame[12] = ETHER_TYPE >> 8;
	frame[13] = ETHER_TYPE & 255;
	frame[HEADER] = (unsigned char)kind;
	memcpy(frame + HEADER + 1, &flow, 4);
	if (length > sizeof frame - HEADER - 5)
		length = sizeof frame - HEADER - 5;
	memcpy(frame + HEADER + 5, data, length);
	sendto(hosts[here].control, frame, HEADER + 5 + length, 0, (void *)&to, sizeof to);
}

/* Says what went wrong and ends the kernel. */
static void check(int ok, const char *what)
{
	char text[200];

	if (ok)
		return;
	snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
	printf("agent: %s\n", text);
	fflush(stdout);
	if (hosts[here].control > 0)
		answer(FAILED, 0, text, strlen(text));
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void enter(unsigned host)
{
	check(!setns(hosts[host].namespace, CLONE_NEWNET), "setns");
	here = host;
}

/* Starts a thread with a stack that is small, as there may be thousands. */
static pthread_t begin(void *(*work)(void *), void *with)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	errno = pthread_create(&thread, &small, work, with);
	check(!errno, "thread");
	pthread_attr_destroy(&small);
	return thread;
}

/* Moves a card of the first host's namespace into another one. */
static void move(const char *name, int namespace)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
		struct rtattr a;
		int file;
	} m = { { sizeof m, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0 },
		{ .ifi_family = AF_UNSPEC, .ifi_index = (int)if_nametoindex(name) },
		{ RTA_LENGTH(4), IFLA_NET_NS_FD }, namespace };
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char rest[256];
	} r;
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	check(s >= 0 && send(s, &m, sizeof m, 0) == sizeof m && recv(s, &r, sizeof r, 0) > 0, "netlink");
	errno = -r.e.error;
	check(!r.e.error, "moving a card");
	close(s);
}

static void address_of(struct sockaddr *address, uint32_t number)
{
	struct sockaddr_in *in = (struct sockaddr_in *)address;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = number;
}

/* A card without ARP: frames go to the simulator, which knows where they belong. */
static void card_up(unsigned host)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETHER_TYPE) };
	struct ifreq r = { 0 };
	/* The commands of all flows come at one instant. */
	int room = MOST_FLOWS * 4096, s = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(r.ifr_name, "lo");
	r.ifr_flags = IFF_UP;
	check(s >= 0 && !ioctl(s, SIOCSIFFLAGS, &r), "lo up");
	snprintf(r.ifr_name, sizeof r.ifr_name, "eth%u", host);
	r.ifr_flags = IFF_UP | IFF_NOARP;
	check(!ioctl(s, SIOCSIFFLAGS, &r), "card up");
	close(s);
	hosts[host].card = if_nametoindex(r.ifr_name);
	at.sll_ifindex = (int)hosts[host].card;
	hosts[host].control = socket(AF_PACKET, SOCK_RAW, htons(ETHER_TYPE));
	check(hosts[host].control >= 0 && !bind(hosts[host].control, (void *)&at, sizeof at), "control");
	check(!setsockopt(hosts[host].control, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room), "room");
}

static void set(const char *below, const char *key, const char *value)
{
	char path[256];
	size_t n = (size_t)snprintf(path, sizeof path, "%s", below), from = n;
	int f;

	for (; *key && n < sizeof path - 1; key++)
		path[n++] = *key == '.' ? '/' : *key;
	path[n] = 0;
	f = open(path, O_WRONLY | O_TRUNC);
	check(f >= 0 && write(f, value, strlen(value)) > 0, path + from);
	close(f);
}

/* Address (4), then lines KEY=VALUE with sysctls below net. */
static void set_up(unsigned host, char *data)
{
	struct ifreq r = { 0 };
	struct rtentry route = { 0 };
	uint32_t address;
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	memcpy(&address, data, 4);
	for (char *save, *line = strtok_r(data + 4, "\n", &save); line; line = strtok_r(0, "\n", &save)) {
		char *value = strchr(line, '=');
		if (value) {
			*value = 0;
			set("/proc/sys/net/", line, value + 1);
		}
	}
	snprintf(r.ifr_name, sizeof r.ifr_name, "eth%u", host);
	address_of(&r.ifr_addr, address);
	check(s >= 0 && !ioctl(s, SIOCSIFADDR, &r), "address");
	address_of(&r.ifr_netmask, UINT32_MAX);
	check(!ioctl(s, SIOCSIFNETMASK, &r), "mask");
	address_of(&route.rt_dst, 0);
	address_of(&route.rt_genmask, 0);
	route.rt_flags = RTF_UP;
	route.rt_dev = r.ifr_name;
	check(!ioctl(s, SIOCADDRT, &route), "route");
	close(s);
	answer(DONE, 0, 0, 0);
}

struct connection {
	uint32_t address;
	uint16_t local, remote, mss, tells;
	char control[16];
} __attribute__((packed));

static int socket_for(const struct connection *c)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(c->local) };
	int mss = c->mss, s = socket(AF_INET, SOCK_STREAM, 0);

	check(s >= 0 && !setsockopt(s, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss), "mss");
	check(!setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, c->control, (socklen_t)strnlen(c->control, 16)), c->control);
	check(!bind(s, (void *)&at, sizeof at), "bind");
	return s;
}

/* What a program writes at a time. */
static const char zeros[262144];

/* Writes until it is to leave the connection and has written all; or until the connection fails. */
static void *writes(void *as)
{
	struct writer *w = as;
	int is_open = !connect(w->socket, (void *)&w->to, sizeof w->to);

	here = w->host;
	pthread_mutex_lock(&w->lock);
	while (!w->leaves || (is_open && w->left)) {
		uint64_t most = w->left < sizeof zeros ? w->left : sizeof zeros;
		ssize_t n;

		if (w->stops) {
			answer(WROTE, w->flow, &w->written, sizeof w->written);
			w->stops = 0;
		}
		if (!most || !is_open) {
			pthread_cond_wait(&w->more, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		n = send(w->socket, zeros, most, MSG_NOSIGNAL);
		is_open = n >= 0 || errno == EINTR;
		pthread_mutex_lock(&w->lock);
		w->written += n > 0 ? (uint64_t)n : 0;
		if (n > 0 && w->left != UNLIMITED)
			w->left -= w->left < (uint64_t)n ? w->left : (uint64_t)n;
	}
	pthread_mutex_unlock(&w->lock);
	close(w->socket);
	free(w);
	return 0;
}

/* Takes a connection of a flow and reads all that comes. The data is not copied. If nobody is told what is read the call
 * returns for the end of the connection or after two gigabytes. */
static void *reads(void *of)
{
	struct flow *f = of;
	char nothing[1];
	uint64_t n;
	int s = accept(f->listener, 0, 0);

	if (s < 0)
		return 0;
	here = f->host;
	begin(reads, f);
	while ((ssize_t)(n = (uint64_t)recv(s, nothing, INT32_MAX, MSG_TRUNC | (f->tells ? 0 : MSG_WAITALL))) > 0)
		if (f->tells)
			answer(READ, (uint32_t)(f - flows), &n, sizeof n);
	close(s);
	return 0;
}

/* Has the connection closed once all is written. */
static void leave(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->leaves = 1;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
}

static void start(enum command kind, uint32_t flow, const struct connection *c)
{
	struct flow *f = &flows[flow];
	int s = socket_for(c);

	if (kind == LISTEN) {
		f->listener = s;
		f->tells = c->tells;
		f->host = here;
		check(!listen(s, 1), "listen");
		begin(reads, f);
		answer(DONE, flow, 0, 0);
		return;
	}
	if (f->writer)
		leave(f->writer);
	f->writer = calloc(1, sizeof *f->writer);
	check(!!f->writer, "memory");
	f->writer->socket = s;
	f->writer->host = here;
	f->writer->flow = flow;
	f->writer->to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(c->remote),
					      .sin_addr.s_addr = c->address };
	pthread_mutex_init(&f->writer->lock, 0);
	pthread_cond_init(&f->writer->more, 0);
	f->writer->thread = begin(writes, f->writer);
}

/* Has more bytes written; none: no more are, not even those that the socket has not taken yet. */
static void more(struct writer *w, uint64_t bytes)
{
	pthread_mutex_lock(&w->lock);
	w->left = !bytes || bytes == UNLIMITED ? bytes : w->left + bytes;
	w->stops = !bytes;
	pthread_cond_signal(&w->more);
	if (w->stops)
		pthread_kill(w->thread, SIGUSR1);
	pthread_mutex_unlock(&w->lock);
}

/* A counter out of /proc/net/netstat or snmp of the namespace. */
static long counter(const char *file, const char *group, const char *name)
{
	static char names[8192], values[8192];
	FILE *f = fopen(file, "r");
	long result = -1;

	while (f && fgets(names, sizeof names, f) && fgets(values, sizeof values, f)) {
		char *a, *b, *n, *v;
		if (strncmp(names, group, strlen(group)))
			continue;
		for (n = strtok_r(names, " \n", &a), v = strtok_r(values, " \n", &b); n && v;
		     n = strtok_r(0, " \n", &a), v = strtok_r(0, " \n", &b))
			if (!strcmp(n, name))
				result = atol(v);
	}
	if (f)
		fclose(f);
	return result;
}

/* The counters of the host that are named, each with its value. */
static void count(char *wanted)
{
	char text[1400];
	size_t n = 0;

	for (char *save, *name = strtok_r(wanted, " ", &save); name; name = strtok_r(0, " ", &save)) {
		long value = counter("/proc/thread-self/net/netstat", "TcpExt:", name);
		if (value < 0)
			value = counter("/proc/thread-self/net/snmp", "Tcp:", name);
		n += (size_t)snprintf(text + n, sizeof text - n, "%s %ld\n", name, value);
		check(n < sizeof text, "counters");
	}
	answer(COUNTED, 0, text, n);
}

static void carry_out(char *frame)
{
	char *rest = frame + HEADER + 5;
	struct tcp_info info = { 0 };
	socklen_t length = sizeof info;
	uint64_t bytes;
	uint32_t flow;

	memcpy(&flow, frame + HEADER + 1, 4);
	check(flow < MOST_FLOWS, "number of a flow");
	switch (frame[HEADER]) {
	case SET_UP:
		set_up(here, rest);
		break;
	case LISTEN:
	case CONNECT:
		start((enum command)frame[HEADER], flow, (void *)rest);
		break;
	case WRITE:
		memcpy(&bytes, rest, 8);
		more(flows[flow].writer, bytes);
		break;
	case STOP:
		more(flows[flow].writer, 0);
		break;
	case SAMPLE:
		if (!getsockopt(flows[flow].writer->socket, IPPROTO_TCP, TCP_INFO, &info, &length))
			answer(SAMPLED, flow, &info, length);
		break;
	case COUNT:
		count(rest);
		break;
	}
}

static void *obeys(void *host)
{
	char frame[1600];
	ssize_t n;

	enter((unsigned)((struct host *)host - hosts));
	while ((n = recv(hosts[here].control, frame, sizeof frame - 1, 0)) > 0) {
		frame[n] = 0;
		if (n >= HEADER + 5)
			carry_out(frame);
	}
	check(0, "control");
	return 0;
}

/* Two threads for each of the most flows, each with a file or two. */
static void allow_many(void)
{
	struct rlimit files = { 4 * MOST_FLOWS, 4 * MOST_FLOWS };

	check(!setrlimit(RLIMIT_NOFILE, &files), "files");
	set("/proc/sys/kernel/", "pid_max", "32768");
	set("/proc/sys/kernel/", "threads-max", "16384");
}

static void interrupted(int signal)
{
	(void)signal;
}

int main(void)
{
	struct sigaction ends_a_call = { .sa_handler = interrupted };
	char *number = getenv("hosts");
	unsigned many = number ? (unsigned)atoi(number) : 0;

	mount("proc", "/proc", "proc", 0, 0);
	mallopt(M_ARENA_MAX, 1);
	sigaction(SIGUSR1, &ends_a_call, 0);
	check(many > 0 && many <= MOST_HOSTS, "number of hosts");
	allow_many();
	hosts[0].namespace = open("/proc/self/ns/net", O_RDONLY);
	for (unsigned h = 1; h < many; h++) {
		char card[16];
		check(!unshare(CLONE_NEWNET), "unshare");
		hosts[h].namespace = open("/proc/self/ns/net", O_RDONLY);
		enter(0);
		snprintf(card, sizeof card, "eth%u", h);
		move(card, hosts[h].namespace);
	}
	for (unsigned h = 0; h < many; h++) {
		enter(h);
		card_up(h);
	}
	enter(0);
	for (unsigned h = 1; h < many; h++)
		begin(obeys, &hosts[h]);
	answer(READY, many, 0, 0);
	obeys(&hosts[0]);
}
