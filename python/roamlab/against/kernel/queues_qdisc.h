/* What the kernel's source files use of its queue disciplines: attributes of netlink, operations, the common queue. */
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
enum { NLA_U8 = 1, NLA_U32, NLA_U64, NLA_S32 };
#define NLA_POLICY_MIN(kind, low) { .type = kind }
#define NLA_POLICY_MAX(kind, high) { .type = kind }
#define NLA_POLICY_RANGE(kind, low, high) { .type = kind }
#define NLA_POLICY_EXACT_LEN(size) { .len = size }
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
#define nla_get_s32(a) (*(s32 *)nla_data(a))
#define nla_get_u64(a) (*(u64 *)nla_data(a))
#define nla_get_u8(a) (*(u8 *)nla_data(a))
#define nla_parse_nested_deprecated nla_parse_nested
#define NL_SET_ERR_MSG(extack, text) fprintf(stderr, "%s\n", text)
#define NL_SET_ERR_MSG_MOD NL_SET_ERR_MSG
#define NL_SET_ERR_MSG_FMT_MOD(extack, ...) fprintf(stderr, __VA_ARGS__)
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
#define nla_put_s32(skb, type, value) 0
#define nla_put_u64_64bit(skb, type, value, pad) 0
#define NL_SET_ERR_MSG_ATTR(extack, a, text) NL_SET_ERR_MSG(extack, text)
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
#define GFP_ATOMIC 0
#define __GFP_NOWARN 0
#define __GFP_RETRY_MAYFAIL 0
#define SLAB_HWCACHE_ALIGN 0
#define CLOCK_MONOTONIC 1
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
/* No packet waits for a time of its own, so that nothing has to be called later. */
struct qdisc_watchdog {
	int none;
};
#define qdisc_watchdog_init(dog, sch)
#define qdisc_watchdog_init_clockid(dog, sch, clock)
#define qdisc_watchdog_schedule_ns(dog, at)
#define qdisc_watchdog_cancel(dog)
#define qdisc_watchdog_schedule_range_ns(dog, at, slack) abort()
#define netdev_queue_numa_node_read(queue) 0

/* The priority that IPv4 forwarding gives by the ToS octet (`rt_tos2priority`), and the bands of priorities. */
static inline u32 priority_of(u8 tos)
{
	static const u8 priorities[] = { TC_PRIO_BESTEFFORT, TC_PRIO_BULK, TC_PRIO_INTERACTIVE, TC_PRIO_INTERACTIVE_BULK };

	return priorities[tos >> 3 & 3];
}
static const u8 sch_default_prio2band[TC_PRIO_MAX + 1] = { 1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };

static struct Qdisc *made(struct Qdisc_ops *ops)
{
	struct Qdisc *sch = calloc(1, sizeof(*sch) + ops->priv_size);

	sch->ops = ops;
	sch->handle = 1 << 16;
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
