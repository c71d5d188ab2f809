/* The only process of the kernel: hosts as network namespaces, and the sockets of their flows.
 *
 * The simulator commands it by Ethernet frames of a type of its own, which arrive at the card of the host that they are
 * for; answers leave by the same card. So a command is carried out at the nanosecond at which its frame arrives, and an
 * answer has the time of the kernel's clock. Numbers are little-endian. A frame has 14 bytes of Ethernet header, the
 * operation (1 byte), the flow (4 bytes), and what the operation needs. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <unistd.h>

/* IEEE 802 local experimental EtherType 1. */
#define ETHER_TYPE 0x88b5
#define HEADER 14
#define MOST_HOSTS 256
#define MOST_FLOWS 4096
#define UNLIMITED UINT64_MAX

enum command { SET_UP = 1, LISTEN, CONNECT, WRITE, STOP, SAMPLE, COUNT };
enum answer { READY = 128, DONE, SAMPLED, COUNTED, FAILED };

struct host {
	int namespace, control;
	unsigned card;
};

struct flow {
	int sender, receiver, listener;
	uint64_t left;
	unsigned host;
};

static struct host hosts[MOST_HOSTS];
static struct flow flows[MOST_FLOWS];
static unsigned current;
static int polled;

static void answer(enum answer kind, uint32_t flow, const void *data, size_t length)
{
	unsigned char frame[1500] = { 0 };
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETHER_TYPE),
				  .sll_ifindex = (int)hosts[current].card };

	frame[12] = ETHER_TYPE >> 8;
	frame[13] = ETHER_TYPE & 255;
	frame[HEADER] = (unsigned char)kind;
	memcpy(frame + HEADER + 1, &flow, 4);
	if (length > sizeof frame - HEADER - 5)
		length = sizeof frame - HEADER - 5;
	memcpy(frame + HEADER + 5, data, length);
	sendto(hosts[current].control, frame, HEADER + 5 + length, 0, (void *)&to, sizeof to);
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
	if (hosts[current].control > 0)
		answer(FAILED, 0, text, strlen(text));
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void enter(unsigned host)
{
	if (host == current)
		return;
	check(!setns(hosts[host].namespace, CLONE_NEWNET), "setns");
	current = host;
}

static void watch(int file, uint32_t events, uint32_t kind, uint32_t number)
{
	struct epoll_event e = { .events = events, .data.u64 = (uint64_t)kind << 32 | number };
	check(!epoll_ctl(polled, EPOLL_CTL_ADD, file, &e), "epoll");
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
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(r.ifr_name, "lo");
	r.ifr_flags = IFF_UP;
	check(s >= 0 && !ioctl(s, SIOCSIFFLAGS, &r), "lo up");
	snprintf(r.ifr_name, sizeof r.ifr_name, "eth%u", host);
	r.ifr_flags = IFF_UP | IFF_NOARP;
	check(!ioctl(s, SIOCSIFFLAGS, &r), "card up");
	close(s);
	hosts[host].card = if_nametoindex(r.ifr_name);
	at.sll_ifindex = (int)hosts[host].card;
	hosts[host].control = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETHER_TYPE));
	check(hosts[host].control >= 0 && !bind(hosts[host].control, (void *)&at, sizeof at), "control");
	watch(hosts[host].control, EPOLLIN, 0, host);
}

static void set(const char *key, const char *value)
{
	char path[256] = "/proc/sys/net/";
	size_t n = strlen(path);
	int f;

	for (; *key && n < sizeof path - 1; key++)
		path[n++] = *key == '.' ? '/' : *key;
	path[n] = 0;
	f = open(path, O_WRONLY | O_TRUNC);
	check(f >= 0 && write(f, value, strlen(value)) > 0, path + 14);
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
			set(line, value + 1);
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
	uint16_t local, remote, mss, reserved;
	char control[16];
} __attribute__((packed));

static int socket_for(const struct connection *c)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(c->local) };
	int mss = c->mss, s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	check(s >= 0 && !setsockopt(s, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss), "mss");
	check(!setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, c->control, (socklen_t)strnlen(c->control, 16)), c->control);
	check(!bind(s, (void *)&at, sizeof at), "bind");
	return s;
}

static void start(enum command kind, uint32_t flow, unsigned host, const struct connection *c)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(c->remote), .sin_addr.s_addr = c->address };
	int s = socket_for(c);

	if (kind == LISTEN) {
		flows[flow].listener = s;
		check(!listen(s, 1), "listen");
		watch(s, EPOLLIN, 1, flow);
		answer(DONE, flow, 0, 0);
		return;
	}
	flows[flow].sender = s;
	flows[flow].host = host;
	check(!connect(s, (void *)&to, sizeof to) || errno == EINPROGRESS, "connect");
	watch(s, EPOLLOUT | EPOLLET, 2, flow);
}

static char data[262144];

/* Writes what is left to be written, as much as the socket's buffer takes. */
static void fill(struct flow *f)
{
	while (f->left) {
		ssize_t n = write(f->sender, data, f->left < sizeof data ? f->left : sizeof data);
		if (n <= 0)
			return;
		if (f->left != UNLIMITED)
			f->left -= (uint64_t)n;
	}
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

static void command(unsigned host)
{
	static char frame[1600];
	ssize_t n;

	while ((n = recv(hosts[host].control, frame, sizeof frame - 1, 0)) > 0) {
		char *rest = frame + HEADER + 5;
		struct tcp_info info;
		socklen_t length = sizeof info;
		uint32_t flow;

		if (n < HEADER + 5)
			continue;
		frame[n] = 0;
		memcpy(&flow, frame + HEADER + 1, 4);
		check(flow < MOST_FLOWS, "number of a flow");
		enter(host);
		switch (frame[HEADER]) {
		case SET_UP:
			set_up(host, rest);
			break;
		case LISTEN:
		case CONNECT:
			start((enum command)frame[HEADER], flow, host, (void *)rest);
			break;
		case WRITE: {
			uint64_t more;
			memcpy(&more, rest, 8);
			flows[flow].left = more == UNLIMITED ? UNLIMITED : flows[flow].left + more;
			fill(&flows[flow]);
			break;
		}
		case STOP:
			flows[flow].left = 0;
			break;
		case SAMPLE:
			memset(&info, 0, sizeof info);
			if (!getsockopt(flows[flow].sender, IPPROTO_TCP, TCP_INFO, &info, &length))
				answer(SAMPLED, flow, &info, length);
			break;
		case COUNT:
			count(rest);
			break;
		}
	}
}

static void receive(uint32_t kind, uint32_t number)
{
	switch (kind) {
	case 0:
		command(number);
		break;
	case 1: {
		int s = accept4(flows[number].listener, 0, 0, SOCK_NONBLOCK);
		if (s < 0)
			break;
		flows[number].receiver = s;
		watch(s, EPOLLIN, 3, number);
		break;
	}
	case 2:
		fill(&flows[number]);
		break;
	case 3:
		while (recv(flows[number].receiver, data, sizeof data, MSG_TRUNC) > 0)
			;
	}
}

int main(void)
{
	char *number = getenv("hosts");
	unsigned many = number ? (unsigned)atoi(number) : 0;

	mount("proc", "/proc", "proc", 0, 0);
	polled = epoll_create1(0);
	check(many > 0 && many <= MOST_HOSTS, "number of hosts");
	hosts[0].namespace = open("/proc/self/ns/net", O_RDONLY);
	for (unsigned h = 1; h < many; h++) {
		char card[16];
		check(!unshare(CLONE_NEWNET), "unshare");
		hosts[h].namespace = open("/proc/self/ns/net", O_RDONLY);
		current = h;
		enter(0);
		snprintf(card, sizeof card, "eth%u", h);
		move(card, hosts[h].namespace);
	}
	for (unsigned h = 0; h < many; h++) {
		enter(h);
		card_up(h);
	}
	enter(0);
	answer(READY, many, 0, 0);
	for (;;) {
		struct epoll_event events[64];
		int n = epoll_wait(polled, events, 64, -1);
		for (int i = 0; i < n; i++)
			receive((uint32_t)(events[i].data.u64 >> 32), (uint32_t)events[i].data.u64);
	}
}
