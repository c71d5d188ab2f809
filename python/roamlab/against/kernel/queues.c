/* One queue discipline of Linux in virtual time: arrivals in, the fate of each packet out.
 *
 * The discipline is the kernel's own source file, unmodified: it is included below from the tree of the source package.
 * Around it stands what it calls, written here: packets, lists, netlink attributes, and a link that takes a packet when it
 * is idle. The clock is the arrivals'; the random numbers of a packet follow from its number (`number_of`).
 *
 * Compiled with -DFIFO="file" -DDISCIPLINE="file", -DTREES="file" for one that has red-black trees, and a folder in which every header that the discipline includes is either
 * the kernel's or empty. Call: queues NAME SEED LEAD_NS PACKETS RATES TYPE=VALUE[/1]|TYPE:BYTES_IN_HEX...
 * In: arrays of times [ns], sizes [B], flows, ToS octets, then times and rates of the link [bit/s]. Out: the times at which
 * packets left the queue, then their fates. */
#include "queues_base.h"
#include "queues_qdisc.h"

#ifdef TREES
#include TREES
#endif
#include FIFO
#ifdef DISCIPLINE
#include DISCIPLINE
#else
module_init(NULL)
#endif

/* The link. */

static struct Qdisc *queue;
static u64 *rate_from, *rates, rate_count, rate_at;

/* Timers that are due at the same instant as anything else come first. */
static void advance(u64 to)
{
	for (;;) {
		u64 coarse = timer ? timer->at : U64_MAX, fine = fine_timer ? fine_timer->at : U64_MAX;

		if (min(coarse, fine) > to)
			break;
		now_ns = min(coarse, fine);
		if (coarse <= fine)
			timer->expired(timer);
		else
			fine_timer->expired(fine_timer);
	}
	now_ns = to;
}

/* Sends a packet; the time at which the link is idle again. */
static u64 send(struct sk_buff *skb)
{
	u64 bits = 8ull * skb->len * NSEC_PER_SEC, was = tos[skb->number] & 3;

	while (rate_at + 1 < rate_count && rate_from[rate_at + 1] <= now_ns)
		rate_at++;
	settle(skb, (skb->ip.tos & 3) == INET_ECN_CE && was != INET_ECN_CE ? MARKED : SERVED);
	return now_ns + (bits + rates[rate_at] - 1) / rates[rate_at];
}

static bool take(u64 *free_at)
{
	struct sk_buff *skb;

	has_numbers = false;
	skb = queue->ops->dequeue(queue);
	if (!skb && queue->q.qlen) {
		fputs("the queue keeps its packets from an idle link\n", stderr);
		exit(2);
	}
	if (skb)
		*free_at = send(skb);
	return skb;
}

static void arrive(struct sk_buff *skb, bool *busy, u64 *free_at)
{
	struct sk_buff *lost = NULL;

	if (!*busy && queue->flags & TCQ_F_CAN_BYPASS && !queue->q.qlen) {
		*free_at = send(skb);
		*busy = true;
		return;
	}
	draw_from(number_of(skb->number));
	has_numbers = true;
	queue->ops->enqueue(skb, queue, &lost);
	settle_all(lost);
	if (!*busy)
		*busy = take(free_at);
}

static void *read_array(size_t size, u64 count)
{
	void *array = malloc(size * count + 1);

	if (fread(array, size, count, stdin) != count) {
		fputs("the input ends early\n", stderr);
		exit(2);
	}
	return array;
}

/* The options that netlink would carry; of a FIFO the one number without a type. */
static struct nlattr *options_of(int count, char **words)
{
	struct nlattr *options = calloc(1, 4096), *one = options + 1;

	for (int i = 0; i < count; i++) {
		u32 type, value, bytes = 4;
		char *hex = strchr(words[i], ':');

		if (hex) {
			u8 *to = (u8 *)(one + 1);

			for (bytes = 0; sscanf(++hex, "%2x", &value) == 1; hex++)
				to[bytes++] = (u8)value;
			one->nla_type = strtoul(words[i], NULL, 10);
			one->nla_len = 4 + bytes;
			one += 1 + (bytes + 3) / 4;
			continue;
		}
		if (sscanf(words[i], "%u=%u/%u", &type, &value, &bytes) < 2) {
			*(u32 *)one = strtoul(words[i], NULL, 10);
			one++;
			continue;
		}
		one->nla_type = type;
		one->nla_len = 4 + bytes;
		*(u32 *)(one + 1) = value;
		one += 2;
	}
	options->nla_len = (char *)one - (char *)options;
	return options;
}

static struct Qdisc *create(const char *name, int count, char **words)
{
	struct Qdisc_ops *known[] = { &pfifo_qdisc_ops, &pfifo_head_drop_qdisc_ops, NULL };
	struct Qdisc *sch = NULL;

	if (begin)
		begin();
	known[2] = registered;
	for (int i = 0; i < 3; i++)
		if (known[i] && !strcmp(known[i]->id, name))
			sch = made(known[i]);
	if (!sch || sch->ops->init(sch, options_of(count, words), NULL)) {
		fprintf(stderr, "%s: no such queue, or it refused its options\n", name);
		exit(2);
	}
	return sch;
}

int main(int argc, char **argv)
{
	/* Of a machine that is up for minutes: no time of the past is recent because it is 0. */
	const u64 origin = 400 * 1024000000ull;
	u64 packets, free_at = 0, *times;
	u32 *sizes, *flows;
	bool busy = false;

	if (argc < 6)
		return 2;
	seed = strtoull(argv[2], NULL, 10);
	packets = strtoull(argv[4], NULL, 10);
	rate_count = strtoull(argv[5], NULL, 10);
	times = read_array(8, packets), sizes = read_array(4, packets), flows = read_array(4, packets);
	tos = read_array(1, packets), rate_from = read_array(8, rate_count), rates = read_array(8, rate_count);
	left_ns = calloc(packets, 8), fates = calloc(packets, 1);
	for (u64 i = 0; i < rate_count; i++)
		rate_from[i] += origin;

	draw_from(number_of(U64_MAX));
	hash_seed = (u64)(get_random_u32() * 2.328306549295728e-10 * (double)(1ull << 53));
	if (!strcmp(argv[1], "cake"))
		draws_seed = (u64)(get_random_u32() * 2.328306549295728e-10 * (double)(1ull << 53));
	now_ns = origin - strtoull(argv[3], NULL, 10);
	queue = create(argv[1], argc - 6, argv + 6);
	for (u64 i = 0; i < packets; i++) {
		struct sk_buff *skb = calloc(1, sizeof(*skb));

		while (busy && free_at <= origin + times[i]) {
			advance(free_at);
			busy = take(&free_at);
		}
		advance(origin + times[i]);
		skb->number = i, skb->len = sizes[i], skb->flow = flows[i], skb->ip.tos = tos[i];
		skb->priority = priority_of(tos[i]);
		skb->truesize = draws_seed ? skb->len : 2304;
		skb->hash = skb_get_hash(skb), skb->l4_hash = true;
		qdisc_skb_cb(skb)->pkt_len = skb->len;
		arrive(skb, &busy, &free_at);
	}
	while (busy) {
		advance(free_at);
		busy = take(&free_at);
	}
	for (u64 i = 0; i < packets; i++)
		left_ns[i] -= origin;
	fwrite(left_ns, 8, packets, stdout);
	fwrite(fates, 1, packets, stdout);
	return 0;
}
