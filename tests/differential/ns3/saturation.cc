// Saturation throughput of 802.11b in ns-3: `stations` senders that always have a frame for one more node, which only receives.
//
// Prints one line of CSV: stations, RTS threshold, run, seconds, frames received, data and RTS frames sent.

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <iostream>

using namespace ns3;

namespace {

// Frames shorter than this are acknowledgements or CTS.
constexpr uint32_t kShortestFrame = 20;
constexpr double kWarmUp = 1.0;

uint64_t received = 0;
uint64_t sent = 0;

void CountReceived(Ptr<const Packet>)
{
    received += Simulator::Now().GetSeconds() >= kWarmUp;
}

void CountSent(Ptr<const Packet> packet, double)
{
    sent += packet->GetSize() >= kShortestFrame && Simulator::Now().GetSeconds() >= kWarmUp;
}

}  // namespace

int main(int argc, char** argv)
{
    uint32_t stations = 1;
    uint32_t rtsThreshold = 2347;
    uint32_t run = 1;
    double seconds = 100;
    double radius = 1;
    CommandLine command;
    command.AddValue("stations", "senders", stations);
    command.AddValue("rts", "RTS threshold in bytes", rtsThreshold);
    command.AddValue("run", "number of the random run", run);
    command.AddValue("seconds", "time that is measured, after one second", seconds);
    command.AddValue("radius", "distance of the senders from the receiver, in metres", radius);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(run);
    // Always full, and no frame grows too old to be sent.
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("20p"));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", StringValue("1000s"));

    NodeContainer nodes;
    nodes.Create(stations + 1);
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    // The same power from everywhere: no frame is strong enough to survive a collision.
    channel.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(-50));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("DsssRate11Mbps"),
                                 "ControlMode", StringValue("DsssRate11Mbps"),
                                 "RtsCtsThreshold", UintegerValue(rtsThreshold));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    wifi.AssignStreams(devices, 100);

    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    for (uint32_t station = 0; station < stations; ++station)
    {
        double angle = 2 * M_PI * station / stations;
        places->Add(Vector(radius * std::cos(angle), radius * std::sin(angle), 0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.Install(nodes);

    PacketSocketHelper sockets;
    sockets.Install(nodes);
    for (uint32_t station = 1; station <= stations; ++station)
    {
        PacketSocketAddress to;
        to.SetSingleDevice(devices.Get(station)->GetIfIndex());
        to.SetPhysicalAddress(devices.Get(0)->GetAddress());
        to.SetProtocol(1);
        Ptr<PacketSocketClient> client = CreateObject<PacketSocketClient>();
        client->SetRemote(to);
        client->SetAttribute("PacketSize", UintegerValue(1500));
        client->SetAttribute("MaxPackets", UintegerValue(0));
        client->SetAttribute("Interval", TimeValue(MicroSeconds(stations == 1 ? 1500 : 2300)));
        client->SetStartTime(MicroSeconds(100 * station));
        nodes.Get(station)->AddApplication(client);
        Ptr<WifiNetDevice> device = DynamicCast<WifiNetDevice>(devices.Get(station));
        device->GetPhy()->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&CountSent));
    }
    Ptr<WifiNetDevice> sink = DynamicCast<WifiNetDevice>(devices.Get(0));
    sink->GetMac()->TraceConnectWithoutContext("MacRx", MakeCallback(&CountReceived));

    Simulator::Stop(Seconds(kWarmUp + seconds));
    Simulator::Run();
    Simulator::Destroy();
    std::cout << stations << ',' << rtsThreshold << ',' << run << ',' << seconds << ',' << received << ','
              << sent << std::endl;
}
