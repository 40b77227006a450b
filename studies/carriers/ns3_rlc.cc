// Pass packets through RLC and PDCP of ns-3's LTE module, over a MAC with a given list of errors.
//
//     g++ -std=c++17 -O2 studies/carriers/ns3_rlc.cc -o ns3-rlc -lns3-lte -lns3-network -lns3-core
//
// Needs Debian's libns3-dev. Standard input has a line a fact, in any order:
//
//     mode am|um             which RLC
//     block_bytes N          what a slot of 1 ms carries, in either direction
//     reordering_ms N        t-Reordering
//     poll_retransmit_ms N   t-PollRetransmit (AM)
//     status_prohibit_ms N   t-StatusProhibit (AM)
//     lasts_ms N             when the simulation ends
//     fails SLOT             nothing of this slot of the downlink is decoded
//     uplink_fails SLOT      nothing of this slot of the uplink is decoded
//     packet TIME_US BYTES   an SDU of PDCP; times do not descend
//
// Standard output has a line a delivered packet: its number (from 0), and when it was delivered (us).
// The MAC sends a block that failed again HARQ_ROUND slots later, at most HARQ_RETRANSMISSIONS times.
// A block has as many RLC PDUs as fit: those of ns-3's RLC do not contain data and status together.

#include <ns3/lte-mac-sap.h>
#include <ns3/lte-pdcp-sap.h>
#include <ns3/lte-pdcp.h>
#include <ns3/lte-rlc-am.h>
#include <ns3/lte-rlc-sap.h>
#include <ns3/lte-rlc-um.h>
#include <ns3/nstime.h>
#include <ns3/packet.h>
#include <ns3/simulator.h>
#include <ns3/uinteger.h>

#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr int HARQ_ROUND = 8;
constexpr int HARQ_RETRANSMISSIONS = 4;
constexpr uint32_t LEAST_PDU = 7; // what ns-3's RLC needs of an opportunity for data
constexpr uint16_t RNTI = 1;
constexpr uint8_t LCID = 3;
const Time SLOT = MilliSeconds(1);

struct Case
{
    std::string mode = "am";
    std::map<std::string, int64_t> numbers;
    std::set<int64_t> fails;
    std::set<int64_t> uplinkFails;
    std::vector<std::pair<int64_t, uint32_t>> packets;
};

struct Block
{
    std::vector<Ptr<Packet>> pdus;
    uint32_t bytes = 0;
    int64_t due = 0;
    int retransmissions = 0;
};

// One direction's MAC: slots, HARQ, and the errors of the case.
class Mac : public LteMacSapProvider
{
  public:
    Mac(uint32_t blockBytes, const std::set<int64_t>& fails)
        : m_blockBytes(blockBytes),
          m_fails(fails)
    {
    }

    void Connect(Ptr<LteRlc> sender, Ptr<LteRlc> receiver)
    {
        m_sender = sender->GetLteMacSapUser();
        m_receiver = receiver->GetLteMacSapUser();
        sender->SetLteMacSapProvider(this);
    }

    void Slot(int64_t slot)
    {
        uint32_t room = m_blockBytes;
        std::vector<Block> sent;
        while (!m_waiting.empty() && m_waiting.front().due <= slot && m_waiting.front().bytes <= room)
        {
            room -= m_waiting.front().bytes;
            sent.push_back(m_waiting.front());
            sent.back().retransmissions++;
            m_waiting.pop_front();
        }
        Block fresh = NewBlock(room);
        if (!fresh.pdus.empty())
        {
            sent.push_back(fresh);
        }
        for (auto& block : sent)
        {
            Transmit(block, slot);
        }
    }

    void TransmitPdu(TransmitPduParameters params) override
    {
        m_made.push_back(params.pdu);
    }

    void ReportBufferStatus(ReportBufferStatusParameters) override
    {
    }

  private:
    Block NewBlock(uint32_t room)
    {
        Block block;
        while (room >= LEAST_PDU)
        {
            m_made.clear();
            m_sender->NotifyTxOpportunity({room, 0, 0, 0, RNTI, LCID});
            if (m_made.empty())
            {
                break;
            }
            block.pdus.push_back(m_made.front());
            block.bytes += m_made.front()->GetSize();
            room -= m_made.front()->GetSize();
        }
        return block;
    }

    void Transmit(Block& block, int64_t slot)
    {
        if (m_fails.count(slot) == 0)
        {
            Simulator::Schedule(SLOT, &Mac::Receive, this, block.pdus);
        }
        else if (block.retransmissions < HARQ_RETRANSMISSIONS)
        {
            block.due = slot + HARQ_ROUND;
            m_waiting.push_back(block);
        }
    }

    void Receive(std::vector<Ptr<Packet>> pdus)
    {
        for (const auto& pdu : pdus)
        {
            m_receiver->ReceivePdu({pdu, RNTI, LCID});
        }
    }

    uint32_t m_blockBytes;
    const std::set<int64_t>& m_fails;
    LteMacSapUser* m_sender = nullptr;
    LteMacSapUser* m_receiver = nullptr;
    std::vector<Ptr<Packet>> m_made;
    std::deque<Block> m_waiting;
};

class Sink : public LtePdcpSapUser
{
  public:
    void ReceivePdcpSdu(ReceivePdcpSduParameters params) override
    {
        uint32_t number = 0;
        params.pdcpSdu->CopyData(reinterpret_cast<uint8_t*>(&number), sizeof(number));
        std::cout << number << " " << Simulator::Now().GetMicroSeconds() << "\n";
    }
};

Case
Read(std::istream& input)
{
    Case read;
    std::string word;
    while (input >> word)
    {
        if (word == "mode")
        {
            input >> read.mode;
            continue;
        }
        int64_t number;
        input >> number;
        if (word == "fails")
        {
            read.fails.insert(number);
        }
        else if (word == "uplink_fails")
        {
            read.uplinkFails.insert(number);
        }
        else if (word == "packet")
        {
            uint32_t bytes;
            input >> bytes;
            read.packets.emplace_back(number, bytes);
        }
        else
        {
            read.numbers[word] = number;
        }
    }
    return read;
}

Ptr<LteRlc>
MakeRlc(const Case& c)
{
    const Time reordering = MilliSeconds(c.numbers.at("reordering_ms"));
    Ptr<LteRlc> rlc;
    if (c.mode == "um")
    {
        rlc = CreateObject<LteRlcUm>();
    }
    else
    {
        rlc = CreateObject<LteRlcAm>();
        rlc->SetAttribute("PollRetransmitTimer", TimeValue(MilliSeconds(c.numbers.at("poll_retransmit_ms"))));
        rlc->SetAttribute("StatusProhibitTimer", TimeValue(MilliSeconds(c.numbers.at("status_prohibit_ms"))));
    }
    rlc->SetAttribute("ReorderingTimer", TimeValue(reordering));
    rlc->SetAttribute("MaxTxBufferSize", UintegerValue(1 << 30));
    rlc->SetRnti(RNTI);
    rlc->SetLcId(LCID);
    return rlc;
}

Ptr<LtePdcp>
MakePdcp(Ptr<LteRlc> rlc, LtePdcpSapUser* user)
{
    Ptr<LtePdcp> pdcp = CreateObject<LtePdcp>();
    pdcp->SetRnti(RNTI);
    pdcp->SetLcId(LCID);
    pdcp->SetLteRlcSapProvider(rlc->GetLteRlcSapProvider());
    rlc->SetLteRlcSapUser(pdcp->GetLteRlcSapUser());
    pdcp->SetLtePdcpSapUser(user);
    return pdcp;
}

void
Push(Ptr<LtePdcp> pdcp, uint32_t number, uint32_t bytes)
{
    std::vector<uint8_t> data(bytes);
    std::memcpy(data.data(), &number, sizeof(number));
    LtePdcpSapProvider::TransmitPdcpSduParameters params;
    params.pdcpSdu = Create<Packet>(data.data(), bytes);
    params.rnti = RNTI;
    params.lcid = LCID;
    pdcp->GetLtePdcpSapProvider()->TransmitPdcpSdu(params);
}

// A slot is scheduled after what ends with the slot before it, so that it knows of that.
void
Slots(Mac* down, Mac* up, int64_t slot)
{
    down->Slot(slot);
    up->Slot(slot);
    Simulator::Schedule(SLOT, &Slots, down, up, slot + 1);
}

} // namespace

int
main()
{
    const Case c = Read(std::cin);
    Sink sink;
    Ptr<LteRlc> node = MakeRlc(c);
    Ptr<LteRlc> terminal = MakeRlc(c);
    Ptr<LtePdcp> sender = MakePdcp(node, &sink);
    Ptr<LtePdcp> receiver = MakePdcp(terminal, &sink);
    const uint32_t bytes = c.numbers.at("block_bytes");
    Mac down(bytes, c.fails);
    Mac up(bytes, c.uplinkFails);
    down.Connect(node, terminal);
    up.Connect(terminal, node);
    for (uint32_t number = 0; number < c.packets.size(); number++)
    {
        const auto& [time, size] = c.packets[number];
        Simulator::Schedule(MicroSeconds(time), &Push, sender, number, size);
    }
    Simulator::Schedule(Time(0), &Slots, &down, &up, 0);
    Simulator::Stop(MilliSeconds(c.numbers.at("lasts_ms")));
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
