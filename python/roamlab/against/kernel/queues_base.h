/* What the kernel's source files use of the kernel: types, lists, the clock, random numbers, packets. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rbtree_types.h>

/* Types and small tools. */

typedef uint8_t u8, __u8;
typedef int8_t s8, __s8;
typedef uint16_t u16, __u16;
typedef int16_t s16, __s16;
typedef uint32_t u32, __u32;
typedef int32_t s32, __s32;
typedef unsigned long long u64, __u64;
typedef long long s64, __s64, ktime_t;
typedef u32 __be32;
typedef u16 __be16;
typedef u64 psched_time_t, netdev_features_t;
typedef int spinlock_t;

#define ENOMEM 12
#define EINVAL 22
#define EMSGSIZE 90
#define EOPNOTSUPP 95
#define INT_MAX INT32_MAX
#define U32_MAX UINT32_MAX
#define BITS_PER_LONG 64
#define BIT(n) (1u << (n))
#define IS_ENABLED(option) 0
#define DIV_ROUND_UP(n, base) (((n) + (base) - 1) / (base))
#define __ffs(x) __builtin_ctz(x)
#define div64_u64(n, base) ((u64)(n) / (base))
#define U64_MAX ((u64)~0ull)
#define BITS_PER_BYTE 8
#define HZ 1000
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
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
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))
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
#define kvmalloc_node(size, flags, node) calloc(1, size)
#define kmem_cache_create(name, size, align, flags, init) ((struct kmem_cache *)(size_t)(size))
#define kmem_cache_destroy(cache)
#define kmem_cache_zalloc(cache, flags) calloc(1, (size_t)(cache))
#define kmem_cache_free(cache, p) free(p)
struct kmem_cache;
static inline void kmem_cache_free_bulk(struct kmem_cache *cache, size_t count, void **all)
{
	while (count--)
		free(all[count]);
}
#define ERR_PTR(error) ((void *)(long)(error))
#define IS_ERR_OR_NULL(p) (!(p))
#define IS_ERR(p) (!(p))
#define PTR_ERR(p) (-ENOMEM)
#define BUG() abort()
#define fls(x) ((x) ? 32 - __builtin_clz(x) : 0)
#define WARN_ON_ONCE(x)
#define __rcu
#define __read_mostly
#define __always_inline inline __attribute__((always_inline))
#define notrace
#define rcu_assign_pointer(p, value) ((p) = (value))
#define rcu_dereference_raw(p) (p)
#define ilog2(x) (63 - __builtin_clzll(x))
#define div64_ul(n, base) ((u64)(n) / (base))
#define BUG_ON(x)
#define pr_warn_ratelimited(...)
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
#define ktime_add_ms(t, ms) ((t) + (ms) * NSEC_PER_MSEC)
#define ktime_sub(later, earlier) ((later) - (earlier))
#define ktime_to_ns(t) (t)
#define ktime_to_us(t) ((t) / NSEC_PER_USEC)
#define ktime_before(a, b) ((a) < (b))
#define ktime_after(a, b) ((a) > (b))
#define ktime_compare(a, b) ((a) < (b) ? -1 : (a) > (b))
#define KTIME_MAX INT64_MAX
#define jiffies (now_ns / (NSEC_PER_SEC / HZ))
#define usecs_to_jiffies(us) (((us) + 999) / 1000)
#define jiffies_to_usecs(j) ((j) * 1000)
#define msecs_to_jiffies(ms) (ms)
#define time_after(a, b) ((long)((b) - (a)) < 0)

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
/* Numbers of a queue that draws at each departure, before it is known for which packet: a hash of how many were drawn. */
static u64 draws_seed, drawn;
static u64 hash_of(u64 number, u64 seed);
static u32 get_random_u32(void)
{
	if (draws_seed)
		return (u32)(hash_of(++drawn, draws_seed) >> 32);

	u64 next_x = (1403580 * x[1] + 810728 * (4294967087ull - x[0])) % 4294967087ull;
	u64 next_y = (527612 * y[2] + 1370589 * (4294944443ull - y[0])) % 4294944443ull;

	x[0] = x[1], x[1] = x[2], x[2] = next_x;
	y[0] = y[1], y[1] = y[2], y[2] = next_y;
	return (u32)(next_x > next_y ? next_x - next_y : next_x + 4294967087ull - next_y);
}
static inline u16 get_random_u16(void) { return (u16)(get_random_u32() >> 16); }
static inline void get_random_bytes(void *to, int size)
{
	u64 number = (u64)get_random_u32() << 32;

	memcpy(to, &number, size);
}

/* Packets. */

enum { INET_ECN_NOT_ECT, INET_ECN_ECT_1, INET_ECN_ECT_0, INET_ECN_CE, INET_ECN_MASK = 3 };
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86DD
#include "queues_headers.h"
/* A packet of a router: no socket, no time of departure. */
#define TCP_CLOSE 7
enum { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
struct sock {
	int sk_state, sk_hash, sk_pacing_status;
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
};
#define sk_listener(sk) 0
#define sk_fullsock(sk) 1
#define sk_is_tcp(sk) 1
#define skb_orphan(skb)
#define smp_store_release(p, value) (*(p) = (value))
struct sk_buff {
	struct sk_buff *next, *prev;
	struct rb_node rbnode;
	struct sock *sk;
	void *dev;
	u64 tstamp;
	u32 len, truesize, flow, priority, number, mark, hash;
	bool l4_hash;
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

#define rb_to_skb(node) rb_entry(node, struct sk_buff, rbnode)
#define skb_rb_first(root) rb_to_skb_or_none(rb_first(root))
#define rb_to_skb_or_none(node) \
	({ struct rb_node *found = (node); found ? rb_to_skb(found) : NULL; })

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
static u64 hash_of(u64 number, u64 seed)
{
	u64 z = (number ^ seed) + 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}
static inline u32 skb_get_hash(const struct sk_buff *skb) { return (u32)(hash_of(skb->flow, hash_seed) >> 32); }

/* The hash of a packet's source, or of its destination: the other one is 0. */
struct flow_keys {
	struct {
		u32 addr_type;
	} control;
	struct {
		u32 ip_proto;
	} basic;
	struct {
		u32 flow_label;
	} tags;
	struct {
		u32 keyid;
	} keyid;
	struct {
		u32 ports;
	} ports;
	struct {
		struct {
			u32 src, dst;
		} v4addrs;
		struct {
			u32 src, dst;
		} v6addrs;
	} addrs;
};
enum { FLOW_DISSECTOR_KEY_IPV4_ADDRS = 1, FLOW_DISSECTOR_KEY_IPV6_ADDRS, FLOW_DISSECTOR_F_STOP_AT_FLOW_LABEL };
static inline void skb_flow_dissect_flow_keys(const struct sk_buff *skb, struct flow_keys *keys, int flags)
{
	memset(keys, 0, sizeof(*keys));
	keys->control.addr_type = FLOW_DISSECTOR_KEY_IPV4_ADDRS;
	keys->addrs.v4addrs.src = 1 + skb->flow / 2 % 7;
	keys->addrs.v4addrs.dst = 101 + skb->flow % 3;
}
static inline u32 flow_hash_from_keys(struct flow_keys *keys)
{
	u64 source = keys->addrs.v4addrs.src;

	return (u32)(hash_of(source ? 1ull << 32 | source : 2ull << 32 | keys->addrs.v4addrs.dst, hash_seed) >> 32);
}

/* A fate is written once, when a packet is lost or leaves. */
enum { SERVED, MARKED, DROPPED };
static u64 *left_ns;
static u8 *fates, *tos;
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
