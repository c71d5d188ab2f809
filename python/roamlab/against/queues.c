/* One queue discipline of Linux in virtual time: arrivals in, the fate of each packet out.
 *
 * The discipline is the kernel's own source file, unmodified: it is included below from the tree of the source package.
 * Around it stands what it calls, written here: packets, lists, netlink attributes, and a link that takes a packet when it
 * is idle. The clock is the arrivals'; the random numbers of a packet follow from its number (`number_of`).
 *
 * Compiled with -DFIFO="file" -DDISCIPLINE="file" and a folder in which every header that the discipline includes is either
 * the kernel's or empty. Call: queues NAME SEED LEAD_NS PACKETS RATES TYPE=VALUE[/1]|TYPE:BYTES_IN_HEX...
 * In: arrays of times [ns], sizes [B], flows, ECN bits, then times and rates of the link [bit/s]. Out: the times at which
 * packets left the queue, then their fates. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Types and small tools. */

typedef uint8_t u8, __u8;
typedef int8_t s8, __s8;
typedef uint16_t u16, __u16;
typedef int16_t __s16;
typedef uint32_t u32, __u32;
typedef int32_t s32, __s32;
typedef unsigned long long u64, __u64;
typedef long long s64, __s64, ktime_t;
typedef u64 psched_time_t, netdev_features_t;
typedef int spinlock_t;

#define ENOMEM 12
#define EINVAL 22
#define EMSGSIZE 90
#define EOPNOTSUPP 95
#define INT_MAX INT32_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX ((u64)~0ull)
#define BITS_PER_BYTE 8
#define HZ 1000
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define USEC_PER_MSEC 1000L
#define PSCHED_NS2TICKS(x) ((x) >> 6)
#define PSCHED_TICKS2NS(x) ((s64)(x) << 6)
#define PSCHED_TICKS_PER_SEC PSCHED_NS2TICKS(NSEC_PER_SEC)
#define typecheck(type, x) 1
#define likely(x) (x)
#define unlikely(x) (x)
#define fallthrough
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define clamp_t(type, x, low, high) min_t(type, max((type)(x), (type)(low)), high)
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))
#define DIV_ROUND_CLOSEST(n, base) (((n) + (base) / 2) / (base))
#define do_div(n, base) ((n) /= (base))
#define div_u64(n, base) ((u64)(n) / (base))
#define upper_32_bits(n) ((u32)((u64)(n) >> 32))
#define lower_32_bits(n) ((u32)(n))
#define mul_u32_u32(a, b) ((u64)(u32)(a) * (u32)(b))
#define reciprocal_scale(value, count) ((u32)(((u64)(u32)(value) * (count)) >> 32))
#define htons(x) __builtin_bswap16(x)
#define prefetch(x)
#define kmalloc(size, flags) calloc(1, size)
#define kfree(p) free(p)
#define kvcalloc(n, size, flags) calloc(n, size)
#define kvfree(p) free(p)
#define ERR_PTR(error) ((void *)(long)(error))
#define IS_ERR_OR_NULL(p) (!(p))
#define IS_ERR(p) (!(p))
#define PTR_ERR(p) (-ENOMEM)
#define BUG() abort()
#define fls(x) ((x) ? 32 - __builtin_clz(x) : 0)
#define WARN_ON_ONCE(x)
#define __rcu
#define __read_mostly
#define __init __attribute__((unused))
#define __exit __attribute__((unused))
#define THIS_MODULE NULL
#define EXPORT_SYMBOL(x)
#define EXPORT_SYMBOL_GPL(x)
#define MODULE_ALIAS_NET_SCH(x)
#define MODULE_DESCRIPTION(x)
#define MODULE_AUTHOR(x)
#define MODULE_LICENSE(x)
#define MODULE_VERSION(x)
#define module_init(f) static int (*const begin)(void) = f;
#define module_exit(f)

/* A division by a number that is known before: exact, as the kernel's. */
struct reciprocal_value {
	u32 divisor;
};
static inline struct reciprocal_value reciprocal_value(u32 divisor)
{
	return (struct reciprocal_value){ divisor };
}
static inline u32 reciprocal_divide(u32 number, struct reciprocal_value value) { return number / value.divisor; }

struct list_head {
	struct list_head *next, *prev;
};
#define INIT_LIST_HEAD(l) ((l)->next = (l)->prev = (l))
#define list_empty(l) ((l)->next == (l))
#define list_first_entry(l, type, member) container_of((l)->next, type, member)
#define list_for_each(at, l) for (at = (l)->next; at != (l); at = at->next)
#define list_add_tail(e, l) put_before(e, l)
#define list_del_init(e) (take_out(e), INIT_LIST_HEAD(e))
#define list_move_tail(e, l) (take_out(e), put_before(e, l))
static inline void put_before(struct list_head *entry, struct list_head *list)
{
	entry->prev = list->prev;
	entry->next = list;
	list->prev->next = entry;
	list->prev = entry;
}
static inline void take_out(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}

/* The clock and its timers. */

static u64 now_ns;
static inline u64 ktime_get_ns(void) { return now_ns; }
static inline ktime_t ktime_get(void) { return now_ns; }
#define ktime_us_delta(later, earlier) (((later) - (earlier)) / NSEC_PER_USEC)
static inline psched_time_t psched_get_time(void) { return PSCHED_NS2TICKS(now_ns); }
#define ktime_add_ns(t, ns) ((t) + (ns))
#define jiffies (now_ns / (NSEC_PER_SEC / HZ))
#define usecs_to_jiffies(us) (((us) + 999) / 1000)
#define jiffies_to_usecs(j) ((j) * 1000)

struct timer_list {
	void (*expired)(struct timer_list *);
	u64 at;
};
static struct timer_list *timer;
#define timer_setup(t, f, flags) (timer = (t), (t)->expired = (f), (t)->at = U64_MAX)
#define mod_timer(t, j) ((t)->at = (j) * (NSEC_PER_SEC / HZ))
#define del_timer_sync(t) ((t)->at = U64_MAX)
#define del_timer(t) del_timer_sync(t)
#define from_timer(var, t, member) container_of(t, __typeof__(*var), member)
#define timer_container_of(var, t, member) container_of(t, __typeof__(*var), member)

enum hrtimer_restart { HRTIMER_RESTART };
struct hrtimer {
	enum hrtimer_restart (*expired)(struct hrtimer *);
	u64 at;
};
static struct hrtimer *fine_timer;
#define hrtimer_setup(t, f, clock, mode) (fine_timer = (t), (t)->expired = (f), (t)->at = U64_MAX)
#define hrtimer_start(t, when, mode) ((t)->at = (when))
#define hrtimer_set_expires(t, when) ((t)->at = (when))
#define hrtimer_cancel(t) ((t)->at = U64_MAX)

/* Random numbers: those of MRG32k3a, begun anew for each packet that a discipline gets or gives first. */

static u64 seed, x[3], y[3];
static void draw_from(u64 state)
{
	for (int i = 0; i < 3; i++)
		x[i] = state % 4294967087ull, y[i] = state % 4294944443ull;
}
static u64 number_of(u64 packet)
{
	u64 z = seed + (packet + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return 1 + (z ^ z >> 31) % 2147483646ull;
}
static u32 get_random_u32(void)
{
	u64 next_x = (1403580 * x[1] + 810728 * (4294967087ull - x[0])) % 4294967087ull;
	u64 next_y = (527612 * y[2] + 1370589 * (4294944443ull - y[0])) % 4294944443ull;

	x[0] = x[1], x[1] = x[2], x[2] = next_x;
	y[0] = y[1], y[1] = y[2], y[2] = next_y;
	return (u32)(next_x > next_y ? next_x - next_y : next_x + 4294967087ull - next_y);
}
static inline void get_random_bytes(void *to, int size)
{
	u64 number = (u64)get_random_u32() << 32;

	memcpy(to, &number, size);
}

/* Packets. */

enum { INET_ECN_NOT_ECT, INET_ECN_ECT_1, INET_ECN_ECT_0, INET_ECN_CE, INET_ECN_MASK = 3 };
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86DD
struct iphdr {
	u8 tos;
};
struct ipv6hdr {
	u8 tos;
};
struct sk_buff {
	struct sk_buff *next;
	u32 len, truesize, flow, priority, number;
	struct iphdr ip;
	char *end;
	u64 cb[6];
};
struct qdisc_skb_cb {
	u32 pkt_len;
	u16 pkt_segs;
	u64 data[5];
};
#define qdisc_skb_cb(skb) ((struct qdisc_skb_cb *)(skb)->cb)
#define qdisc_cb_private_validate(skb, size) ((void)0)
#define ip_hdr(skb) (&(skb)->ip)
#define ipv6_hdr(skb) ((struct ipv6hdr *)&(skb)->ip)
#define ipv4_get_dsfield(h) ((h)->tos)
#define ipv6_get_dsfield(h) ((h)->tos)
#define skb_get_dsfield(skb) ((skb)->ip.tos)
#define skb_network_offset(skb) 0
#define skb_protocol(skb, skip) htons(ETH_P_IP)
#define pskb_may_pull(skb, size) 1
#define skb_try_make_writable(skb, size) 0
#define skb_is_gso(skb) 0
#define netif_skb_features(skb) 0
#define NETIF_F_GSO_MASK 0
#define skb_gso_segment(skb, features) ((struct sk_buff *)0)
#define skb_list_walk_safe(first, skb, next) for (skb = first, next = 0; skb; skb = next)
#define consume_skb(skb)
#define skb_mark_not_on_list(skb) ((skb)->next = NULL)

static inline unsigned int qdisc_pkt_len(const struct sk_buff *skb) { return skb->len; }
static inline int INET_ECN_set_ce(struct sk_buff *skb)
{
	if ((skb->ip.tos & 3) == INET_ECN_NOT_ECT)
		return 0;
	skb->ip.tos |= INET_ECN_CE;
	return 1;
}

/* The hash that Roamlab's FQ-CoDel has; the seed is its first draw. */
static u64 hash_seed;
static u32 skb_get_hash(const struct sk_buff *skb)
{
	u64 z = (skb->flow ^ hash_seed) + 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (u32)((z ^ z >> 31) >> 32);
}

/* A fate is written once, when a packet is lost or leaves. */
enum { SERVED, MARKED, DROPPED };
static u64 *left_ns;
static u8 *fates, *ecn;
static void settle(struct sk_buff *skb, u8 fate)
{
	left_ns[skb->number] = now_ns;
	fates[skb->number] = fate;
	free(skb);
}
#define kfree_skb(skb) settle(skb, DROPPED)
static void settle_all(struct sk_buff *first)
{
	for (struct sk_buff *next; first; first = next) {
		next = first->next;
		settle(first, DROPPED);
	}
}
#define rtnl_kfree_skbs(first, last) settle_all(first)
#define rtnl_qdisc_drop(skb, sch) settle(skb, DROPPED)

/* Netlink attributes. */

struct netlink_ext_ack;
struct nlattr {
	u16 nla_len, nla_type;
};
struct netlink_range_validation {
	u64 min, max;
};
struct nla_policy {
	u8 type;
	u16 len, strict_start_type;
	const void *range;
};
enum { NLA_U8 = 1, NLA_U32 };
#define NLA_POLICY_MIN(kind, low) { .type = kind }
#define NLA_POLICY_MAX(kind, high) { .type = kind }
#define NLA_POLICY_RANGE(kind, low, high) { .type = kind }
#define NLA_POLICY_FULL_RANGE(kind, bounds) { .type = kind, .range = bounds }
#define NLA_POLICY_BITFIELD32(bits) { .type = NLA_U32 }
struct nla_bitfield32 {
	u32 value, selector;
};
#define nla_get_bitfield32(a) (*(struct nla_bitfield32 *)nla_data(a))
#define nla_data(a) ((void *)((a) + 1))
#define nla_len(a) ((int)((a)->nla_len - sizeof(struct nlattr)))
#define nla_attr_size(size) ((int)sizeof(struct nlattr) + (int)(size))
#define nla_get_u32(a) (*(u32 *)nla_data(a))
#define nla_get_u8(a) (*(u8 *)nla_data(a))
#define nla_parse_nested_deprecated nla_parse_nested
#define NL_SET_ERR_MSG(extack, text) fprintf(stderr, "%s\n", text)
#define NL_SET_ERR_MSG_MOD NL_SET_ERR_MSG
static inline int nla_parse_nested(struct nlattr **tb, int most, struct nlattr *options, const struct nla_policy *policy,
				   struct netlink_ext_ack *extack)
{
	char *at = nla_data(options), *end = at + nla_len(options);

	memset(tb, 0, (most + 1) * sizeof(*tb));
	for (; at < end; at += (((struct nlattr *)at)->nla_len + 3) & ~3) {
		struct nlattr *one = (struct nlattr *)at;

		if (one->nla_type > most)
			return -EINVAL;
		tb[one->nla_type] = one;
	}
	return 0;
}

/* Nobody asks for the state over netlink. */
struct gnet_dump;
struct gnet_stats_queue {
	u32 qlen, backlog, drops;
};
#define nla_nest_start_noflag(skb, type) ((struct nlattr *)NULL)
#define nla_nest_cancel(skb, nest)
#define nla_nest_end(skb, nest) 0
#define nla_put_u32(skb, type, value) 0
#define nla_put_u8(skb, type, value) 0
#define nla_put_bitfield32(skb, type, value, selector) 0
#define nla_put(skb, type, size, value) 0
#define gnet_stats_copy_app(d, st, size) ((void)(st), 0)
#define gnet_stats_copy_queue(d, cpu, qs, qlen) ((void)(qs), 0)

/* Queue disciplines. */

#include <linux/pkt_sched.h>

enum { NET_XMIT_SUCCESS, NET_XMIT_DROP, NET_XMIT_CN };
#define net_xmit_drop_count(fate) ((fate) & NET_XMIT_DROP)
#define __NET_XMIT_STOLEN 0x10000
#define __NET_XMIT_BYPASS 0x20000
#define TCQ_F_CAN_BYPASS 4
#define TCQ_F_DEQUEUE_DROPS 8
#define RTM_NEWQDISC 36
#define GFP_KERNEL 0
enum { TC_SETUP_QDISC_FIFO, TC_SETUP_QDISC_RED };
#define TCQ_F_OFFLOADED 0x200

struct net_device_ops {
	int (*ndo_setup_tc)(void *, int, void *);
};
struct net_device {
	u32 mtu, tx_queue_len;
	const struct net_device_ops *netdev_ops;
};
/* Of IP packets without a header of the link. */
static struct net_device device = { .mtu = 1500, .tx_queue_len = 1000 };

struct Qdisc;
struct qdisc_walker {
	int stop, skip, count;
	int (*fn)(struct Qdisc *, unsigned long, struct qdisc_walker *);
};
struct tcf_proto;
struct tcf_block;
struct tcf_result {
	u32 classid;
};
struct tcmsg {
	u32 tcm_handle, tcm_info;
};
struct Qdisc_class_ops {
	int (*graft)(struct Qdisc *, unsigned long, struct Qdisc *, struct Qdisc **, struct netlink_ext_ack *);
	struct Qdisc *(*leaf)(struct Qdisc *, unsigned long);
	unsigned long (*find)(struct Qdisc *, u32);
	struct tcf_block *(*tcf_block)(struct Qdisc *, unsigned long, struct netlink_ext_ack *);
	unsigned long (*bind_tcf)(struct Qdisc *, unsigned long, u32);
	void (*unbind_tcf)(struct Qdisc *, unsigned long);
	int (*dump)(struct Qdisc *, unsigned long, struct sk_buff *, struct tcmsg *);
	int (*dump_stats)(struct Qdisc *, unsigned long, struct gnet_dump *);
	void (*walk)(struct Qdisc *, struct qdisc_walker *);
};
struct Qdisc_ops {
	const struct Qdisc_class_ops *cl_ops;
	const char *id;
	size_t priv_size;
	int (*enqueue)(struct sk_buff *, struct Qdisc *, struct sk_buff **);
	struct sk_buff *(*dequeue)(struct Qdisc *);
	struct sk_buff *(*peek)(struct Qdisc *);
	int (*init)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
	void (*reset)(struct Qdisc *);
	void (*destroy)(struct Qdisc *);
	int (*change)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
	int (*dump)(struct Qdisc *, struct sk_buff *);
	int (*dump_stats)(struct Qdisc *, struct gnet_dump *);
	void *owner;
};
struct qdisc_skb_head {
	struct sk_buff *head, *tail;
	u32 qlen;
};
struct Qdisc {
	struct Qdisc_ops *ops;
	void *dev_queue;
	u32 flags, limit, handle, parent;
	struct qdisc_skb_head q, gso_skb;
	struct {
		u32 backlog, drops, overlimits;
	} qstats;
	struct {
		int none;
	} bstats;
	u64 private[];
};
struct tc_fifo_qopt_offload {
	int command;
	u32 handle, parent;
	struct {
		void *bstats, *qstats;
	} stats;
};
enum { TC_FIFO_REPLACE, TC_FIFO_DESTROY, TC_FIFO_STATS };
struct tc_red_qopt_offload {
	int command;
	u32 handle, parent;
	union {
		struct {
			u32 min, max, probability, limit;
			bool is_ecn, is_harddrop, is_nodrop;
			void *qstats;
		} set;
		struct {
			void *bstats, *qstats;
		} stats;
		void *xstats;
		u32 child_handle;
	};
};
enum { TC_RED_REPLACE, TC_RED_DESTROY, TC_RED_STATS, TC_RED_XSTATS, TC_RED_GRAFT };
extern struct Qdisc_ops pfifo_qdisc_ops, bfifo_qdisc_ops;

#define qdisc_priv(sch) ((void *)(sch)->private)
#define qdisc_dev(sch) (&device)
#define psched_mtu(dev) ((dev)->mtu)
#define qdisc_qlen(sch) ((sch)->q.qlen)
#define tc_can_offload(dev) 0
#define qdisc_offload_dump_helper(sch, type, what) 0
#define tc_qdisc_stats_dump(sch, cl, arg) 0
#define sch_tree_lock(sch)
#define sch_tree_unlock(sch)
#define qdisc_root_sleeping(sch) (sch)
#define qdisc_lock(sch) ((spinlock_t *)(sch))
#define spin_lock(lock) ((void)(lock))
#define spin_unlock(lock) ((void)(lock))
#define rcu_read_lock()
#define rcu_read_unlock()
#define rcu_dereference_bh(p) (p)
#define tcf_classify_qdisc(skb, filter, res, compat) (-1)
#define tcf_classify(skb, block, filter, res, compat) (-1)
#define tcf_block_get(block, filters, sch, extack) 0
#define tcf_block_put(block)
#define qdisc_put(sch) ((void)(sch))
static struct Qdisc noop_qdisc;
#define qdisc_hash_add(sch, invisible)
#define qdisc_purge_queue(sch)
#define qdisc_reset(sch) ((sch)->ops->reset(sch))
#define qdisc_enqueue(skb, sch, to_free) ((sch)->ops->enqueue(skb, sch, to_free))
#define qdisc_dequeue_peeked(sch) ((sch)->ops->dequeue(sch))
#define qdisc_replace(sch, new, at) (*(at) = (new))
#define qdisc_offload_graft_helper(dev, sch, new, old, type, what, extack)
/* Filters at events of a discipline: there are none. */
struct tcf_qevent {
	int none;
};
enum { FLOW_BLOCK_BINDER_TYPE_RED_EARLY_DROP, FLOW_BLOCK_BINDER_TYPE_RED_MARK };
#define tcf_qevent_init(event, sch, type, block, extack) 0
#define tcf_qevent_destroy(event, sch)
#define tcf_qevent_validate_change(event, block, extack) 0
#define tcf_qevent_dump(skb, type, event) 0
#define tcf_qevent_handle(event, sch, skb, to_free, ret) (skb)
#define qdisc_tree_reduce_backlog(sch, packets, bytes) ((void)(packets), (void)(bytes))
#define qdisc_bstats_update(sch, skb) ((void)0)
#define qdisc_qstats_drop(sch) ((sch)->qstats.drops++)
#define __qdisc_qstats_drop(sch, count) ((sch)->qstats.drops += (count))
#define qdisc_qstats_overlimit(sch) ((sch)->qstats.overlimits++)
#define qdisc_qstats_backlog_inc(sch, skb) ((sch)->qstats.backlog += (skb)->len)
#define qdisc_qstats_backlog_dec(sch, skb) ((sch)->qstats.backlog -= (skb)->len)
#define skb_peek(list) ((list)->head)
#define qdisc_peek_dequeued NULL
#define qdisc_drop_reason(skb, sch, to_free, reason) qdisc_drop(skb, sch, to_free)
#define qdisc_dequeue_drop(sch, skb, reason) settle(skb, DROPPED)
enum qdisc_drop_reason { QDISC_DROP_OVERLIMIT, QDISC_DROP_CONGESTED, QDISC_DROP_L4S_STEP_NON_ECN };

/* Whether the numbers of this call are those of a packet yet. */
static bool has_numbers;
static inline struct sk_buff *__qdisc_dequeue_head(struct qdisc_skb_head *line)
{
	struct sk_buff *skb = line->head;

	if (!skb)
		return NULL;
	if (!has_numbers)
		draw_from(number_of(skb->number));
	has_numbers = true;
	line->head = skb->next;
	if (!line->head)
		line->tail = NULL;
	line->qlen--;
	skb->next = NULL;
	return skb;
}
static inline void __skb_queue_head(struct qdisc_skb_head *line, struct sk_buff *skb)
{
	skb->next = line->head;
	line->head = skb;
}
static inline struct sk_buff *qdisc_peek_head(struct Qdisc *sch) { return sch->q.head; }
static inline struct sk_buff *qdisc_dequeue_head(struct Qdisc *sch)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);

	if (skb)
		qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}
static inline int qdisc_enqueue_tail(struct sk_buff *skb, struct Qdisc *sch)
{
	skb->next = NULL;
	if (sch->q.tail)
		sch->q.tail->next = skb;
	else
		sch->q.head = skb;
	sch->q.tail = skb;
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	return NET_XMIT_SUCCESS;
}
static inline void __qdisc_drop(struct sk_buff *skb, struct sk_buff **to_free)
{
	skb->next = *to_free;
	*to_free = skb;
}
static inline int qdisc_drop(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	__qdisc_drop(skb, to_free);
	qdisc_qstats_drop(sch);
	return NET_XMIT_DROP;
}
static inline void __qdisc_queue_drop_head(struct Qdisc *sch, struct qdisc_skb_head *line, struct sk_buff **to_free)
{
	struct sk_buff *skb = __qdisc_dequeue_head(line);

	if (!skb)
		return;
	qdisc_qstats_backlog_dec(sch, skb);
	__qdisc_drop(skb, to_free);
}
static inline struct sk_buff *qdisc_dequeue_internal(struct Qdisc *sch, bool direct)
{
	return direct ? qdisc_dequeue_head(sch) : sch->ops->dequeue(sch);
}
static inline void qdisc_reset_queue(struct Qdisc *sch)
{
	settle_all(sch->q.head);
	memset(&sch->q, 0, sizeof(sch->q));
	sch->qstats.backlog = 0;
}
static struct Qdisc *made(struct Qdisc_ops *ops)
{
	struct Qdisc *sch = calloc(1, sizeof(*sch) + ops->priv_size);

	sch->ops = ops;
	return sch;
}
#define qdisc_create_dflt(queue, ops, parent, extack) made_by_default(ops)
static inline struct Qdisc *made_by_default(struct Qdisc_ops *ops)
{
	struct Qdisc *sch = made(ops);

	return ops->init(sch, NULL, NULL) ? NULL : sch;
}
static struct Qdisc_ops *registered;
static inline int register_qdisc(struct Qdisc_ops *ops)
{
	registered = ops;
	return 0;
}
#define unregister_qdisc(ops)

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
	u64 bits = 8ull * skb->len * NSEC_PER_SEC, was = ecn[skb->number];

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
	const u64 origin = 1024000000ull;
	u64 packets, free_at = 0, *times;
	u32 *sizes, *flows;
	bool busy = false;

	if (argc < 6)
		return 2;
	seed = strtoull(argv[2], NULL, 10);
	packets = strtoull(argv[4], NULL, 10);
	rate_count = strtoull(argv[5], NULL, 10);
	times = read_array(8, packets), sizes = read_array(4, packets), flows = read_array(4, packets);
	ecn = read_array(1, packets), rate_from = read_array(8, rate_count), rates = read_array(8, rate_count);
	left_ns = calloc(packets, 8), fates = calloc(packets, 1);
	for (u64 i = 0; i < rate_count; i++)
		rate_from[i] += origin;

	draw_from(number_of(U64_MAX));
	hash_seed = (u64)(get_random_u32() * 2.328306549295728e-10 * (double)(1ull << 53));
	now_ns = origin - strtoull(argv[3], NULL, 10);
	queue = create(argv[1], argc - 6, argv + 6);
	for (u64 i = 0; i < packets; i++) {
		struct sk_buff *skb = calloc(1, sizeof(*skb));

		while (busy && free_at <= origin + times[i]) {
			advance(free_at);
			busy = take(&free_at);
		}
		advance(origin + times[i]);
		skb->number = i, skb->len = sizes[i], skb->flow = flows[i], skb->ip.tos = ecn[i];
		skb->truesize = 2304;
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
