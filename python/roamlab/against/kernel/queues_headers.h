/* Headers of packets. Only the ToS octet has a value: no compared queue looks at the others, which CAKE's filter of ACKs and
 * its sizes of segments would. */
#define ETH_P_ARP 0x0806
enum { IPPROTO_TCP = 6, IPPROTO_IPV6 = 41 };
struct iphdr {
	u8 tos, version, ihl, protocol;
	u32 saddr, daddr;
};
struct ipv6hdr {
	u8 tos, version, nexthdr;
	u32 saddr, daddr;
};
struct tcphdr {
	u16 source, dest;
	u32 ack_seq, flags;
	u8 doff;
};
struct udphdr {
	u16 source, dest;
};
struct tcp_sack_block_wire {
	u32 start_seq, end_seq;
};
struct skb_shared_info {
	u32 gso_size, gso_segs, gso_type;
};
enum {
	TCPOPT_EOL,
	TCPOPT_NOP,
	TCPOPT_MSS,
	TCPOPT_WINDOW,
	TCPOPT_SACK_PERM,
	TCPOPT_SACK,
	TCPOPT_TIMESTAMP = 8,
	TCPOPT_MD5SIG = 19,
	TCPOPT_FASTOPEN = 34,
	TCPOPT_EXP = 254,
	TCPOLEN_SACK_BASE = 2,
	TCPOLEN_TIMESTAMP = 10,
};
enum { TCP_FLAG_SYN = 1, TCP_FLAG_ACK = 2, TCP_FLAG_ECE = 4, TCP_FLAG_CWR = 8 };
enum { SKB_GSO_TCPV4 = 1, SKB_GSO_TCPV6 = 2, SKB_GSO_DODGY = 4 };
#define __tcp_hdrlen(tcp) ((tcp)->doff * 4)
#define tcp_flag_word(tcp) ((tcp)->flags)
#define get_unaligned_be32(p) (*(const u32 *)(p))
#define cpu_to_be32(x) (x)
#define ntohl(x) (x)
#define before(a, b) ((s32)((a) - (b)) < 0)
#define after(a, b) before(b, a)
#define iph_totlen(skb, ip) ((skb)->len)
#define ipv6_payload_len(skb, ip) ((skb)->len)
#define ipv6_addr_cmp(a, b) (*(a) != *(b))
#define ipv4_change_dsfield(ip, mask, value) ((ip)->tos = ((ip)->tos & (mask)) | (value))
#define ipv6_change_dsfield ipv4_change_dsfield
static const struct skb_shared_info whole;
#define skb_shinfo(skb) (&whole)
#define skb_header_pointer(skb, offset, size, buffer) ((void *)&(skb)->ip)
#define skb_transport_offset(skb) 0
