// `dumbbell --network=red|gigabit --flows=N --seconds=S`: the networks of `benches/src/lib.rs` in ns-3, as far as it has
// their parts. Prints the data packets that arrived. Nothing is traced.
//
// ns-3 has no ns-2 profile: its Reno (`TcpNewReno` with `TcpClassicRecovery`) connects first, and its segments have the
// same sizes on the wire but for 2 B of point-to-point header. Its SACK is on, for without it ns-3.37 ends in a
// segmentation fault when a segment is lost (`TcpRateLinux::SkbSent`). Otherwise: no timestamps, an ACK for each segment,
// windows as in the scripts, a smallest RTO of 200 ms.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>
#include <string>

using namespace ns3;

namespace
{

struct Shape
{
    std::string rate;
    uint32_t delayMs;
    std::string queue;
};

/// Connects two nodes, gives both ends addresses of a network of their own, and takes away the queue discipline that
/// ns-3 puts before every device.
NetDeviceContainer
Connect(Ptr<Node> left, Ptr<Node> right, const Shape& shape, Ipv4AddressHelper& addresses, Ipv4InterfaceContainer& ends)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(shape.rate));
    link.SetChannelAttribute("Delay", TimeValue(MilliSeconds(shape.delayMs)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(shape.queue));
    NetDeviceContainer devices = link.Install(left, right);
    ends = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices);
    addresses.NewNetwork();
    return devices;
}

void
PutRedBefore(Ptr<NetDevice> device, uint32_t limit, double low, double high, uint32_t meanBytes)
{
    TrafficControlHelper red;
    red.SetRootQueueDisc("ns3::RedQueueDisc",
                         "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)),
                         "MinTh", DoubleValue(low),
                         "MaxTh", DoubleValue(high),
                         "LInterm", DoubleValue(50),
                         "QW", DoubleValue(0.002),
                         "Gentle", BooleanValue(false),
                         "MeanPktSize", UintegerValue(meanBytes),
                         "LinkBandwidth", StringValue("2Mbps"),
                         "LinkDelay", StringValue("40ms"));
    red.Install(device);
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string network = "gigabit";
    uint32_t flows = 10;
    uint32_t seconds = 2;
    CommandLine arguments(__FILE__);
    arguments.AddValue("network", "red or gigabit", network);
    arguments.AddValue("flows", "number of flows", flows);
    arguments.AddValue("seconds", "simulated time", seconds);
    arguments.Parse(argc, argv);
    const bool isRed = network == "red";

    const uint32_t segment = isRed ? 512 : 1460;
    const uint32_t window = isRed ? 64 : 1000;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window * segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(2 * window * segment));

    NodeContainer routers(2);
    NodeContainer senders(flows);
    NodeContainer receivers(flows);
    InternetStackHelper().InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Ipv4InterfaceContainer ends;

    // A device behind a RED keeps one packet, so that the others wait where RED sees them.
    const Shape bottleneck = isRed ? Shape{"2Mbps", 40, "1p"} : Shape{"1Gbps", 10, "1000p"};
    NetDeviceContainer between = Connect(routers.Get(0), routers.Get(1), bottleneck, addresses, ends);
    if (isRed)
    {
        PutRedBefore(between.Get(0), 120, 40, 80, 552);
        PutRedBefore(between.Get(1), 100000, 90000, 95000, 40);
    }
    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        const std::string rate = isRed ? "10Mbps" : "1Gbps";
        Connect(senders.Get(flow), routers.Get(0), {rate, isRed ? 1 + flow % 9 : 1, "100000p"}, addresses, ends);
        Connect(receivers.Get(flow), routers.Get(1), {rate, isRed ? 2u : 1u, "100000p"}, addresses, ends);
        const InetSocketAddress destination(ends.GetAddress(0), 5000);
        BulkSendHelper source("ns3::TcpSocketFactory", destination);
        source.SetAttribute("SendSize", UintegerValue(segment));
        source.Install(senders.Get(flow)).Start(MilliSeconds(100 + (isRed ? 100 : 10) * flow));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
        sinks.Add(sink.Install(receivers.Get(flow)));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    uint64_t bytes = 0;
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        bytes += DynamicCast<PacketSink>(sinks.Get(flow))->GetTotalRx();
    }
    std::cout << "datapkts_arrived " << bytes / segment << std::endl;
    Simulator::Destroy();
    return 0;
}
