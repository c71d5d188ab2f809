// The dumbbells of benches/src/lib.rs in ns-3: `dumbbell red|gigabit FLOWS SECONDS` prints how many packets the senders sent.
//
// Nothing is traced. What ns-3 does otherwise than the twins: PPP adds 2 B to the header of 40 B, its Reno is Linux's, and a
// connection begins with a handshake.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>
#include <string>

using namespace ns3;

namespace {

constexpr uint16_t kPort = 5000;

struct Dumbbell
{
    std::string accessRate;
    std::string rate;
    std::string delay;
    uint32_t limit;
    uint32_t window;
    uint32_t segment;
    double stagger;
    uint32_t nearSpread;
    uint32_t farDelay;
};

NetDeviceContainer Connect(Ptr<Node> from, Ptr<Node> to, std::string rate, std::string delay, uint32_t limit)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(PACKETS, limit)));
    return link.Install(from, to);
}

// Without a queue discipline above the device's own queue.
Ipv4InterfaceContainer Number(NetDeviceContainer devices, std::string network)
{
    Ipv4AddressHelper addresses;
    addresses.SetBase(network.c_str(), "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices);
    return interfaces;
}

void SetDefaultRoute(Ptr<Node> node, Ipv4Address next, uint32_t interface)
{
    Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(next, interface);
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 4)
    {
        std::cerr << "usage: dumbbell red|gigabit FLOWS SECONDS" << std::endl;
        return 2;
    }
    const bool red = std::string(argv[1]) == "red";
    const uint32_t flows = std::stoul(argv[2]);
    const double seconds = std::stod(argv[3]);
    const Dumbbell net = red ? Dumbbell{"10Mbps", "2Mbps", "40ms", 1, 64, 512, 0.1, 9, 2}
                             : Dumbbell{"1Gbps", "1Gbps", "10ms", 1000, 1000, 1460, 0.01, 1, 1};

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpLinuxReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(net.segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(net.window * net.segment));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(net.window * net.segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));

    NodeContainer routers;
    routers.Create(2);
    InternetStackHelper internet;
    Ipv4StaticRoutingHelper routing;
    internet.SetRoutingHelper(routing);
    internet.SetIpv6StackInstall(false);
    internet.Install(routers);
    NetDeviceContainer middle = Connect(routers.Get(0), routers.Get(1), net.rate, net.delay, net.limit);
    Ipv4InterfaceContainer between = Number(middle, "10.0.0.0");
    SetDefaultRoute(routers.Get(0), between.GetAddress(1), 1);
    SetDefaultRoute(routers.Get(1), between.GetAddress(0), 1);
    if (red)
    {
        TrafficControlHelper data;
        data.SetRootQueueDisc("ns3::RedQueueDisc",
                              "MaxSize", StringValue("120p"), "MinTh", DoubleValue(40), "MaxTh", DoubleValue(80),
                              "LInterm", DoubleValue(50), "QW", DoubleValue(0.002), "Gentle", BooleanValue(false),
                              "MeanPktSize", UintegerValue(552), "LinkBandwidth", StringValue("2Mbps"),
                              "LinkDelay", StringValue("40ms"));
        data.Install(middle.Get(0));
        TrafficControlHelper acks;
        acks.SetRootQueueDisc("ns3::RedQueueDisc",
                              "MaxSize", StringValue("100000p"), "MinTh", DoubleValue(90000),
                              "MaxTh", DoubleValue(95000), "MeanPktSize", UintegerValue(40),
                              "LinkBandwidth", StringValue("2Mbps"), "LinkDelay", StringValue("40ms"));
        acks.Install(middle.Get(1));
    }
    else
    {
        middle.Get(1)->GetObject<PointToPointNetDevice>()->GetQueue()->SetMaxSize(QueueSize("100000p"));
    }

    NetDeviceContainer senders;
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        NodeContainer ends;
        ends.Create(2);
        internet.Install(ends);
        const std::string number = std::to_string(flow);
        const std::string nearDelay = std::to_string(1 + flow % net.nearSpread) + "ms";
        const std::string farDelay = std::to_string(net.farDelay) + "ms";
        NetDeviceContainer near = Connect(ends.Get(0), routers.Get(0), net.accessRate, nearDelay, 100000);
        NetDeviceContainer far = Connect(routers.Get(1), ends.Get(1), net.accessRate, farDelay, 100000);
        Ipv4InterfaceContainer source = Number(near, "10.1." + number + ".0");
        Ipv4InterfaceContainer sink = Number(far, "10.2." + number + ".0");
        SetDefaultRoute(ends.Get(0), source.GetAddress(1), 1);
        SetDefaultRoute(ends.Get(1), sink.GetAddress(0), 1);
        senders.Add(near.Get(0));

        BulkSendHelper ftp("ns3::TcpSocketFactory", InetSocketAddress(sink.GetAddress(1), kPort));
        ftp.SetAttribute("SendSize", UintegerValue(net.segment));
        ftp.Install(ends.Get(0)).Start(Seconds(0.1 + net.stagger * flow));
        PacketSinkHelper receiver("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kPort));
        receiver.Install(ends.Get(1)).Start(Seconds(0));
    }

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    uint64_t sent = 0;
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        sent += senders.Get(flow)->GetObject<PointToPointNetDevice>()->GetQueue()->GetTotalReceivedPackets();
    }
    Simulator::Destroy();
    std::cout << "datapkts_sent " << sent << std::endl;
    return 0;
}
