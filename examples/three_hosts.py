#!/usr/bin/env python3
"""Three hosts, Dual Connectivity between two of them: iperf over both legs, then over one."""

from mininet.net import Mininet

from minitopo_dc.mininet import addDualConnectivity

net = Mininet(controller=None)
server, gnb, ue = (net.addHost(name) for name in ("server", "gnb", "ue"))
net.addLink(server, gnb)
radio: list[dict[str, object]] = [  # with room in the queues for TCP's start
    {"bw": 20, "delay": "10ms", "max_queue_size": 1000},
    {"bw": 10, "max_queue_size": 1000},
]
dc = addDualConnectivity(net, gnb, ue, legs=radio, ratio=[2, 1])
net.start()

ue.cmd("iperf -s &")
for legs in ("both legs", "leg 1"):
    print(f"over {legs}:", server.cmd(f"iperf -t 2 -c {ue.IP()} | tail -n 1").strip())
    counted = dc.statistics()["downlink"]
    print({leg: f"{counters['delivered_bytes']} bytes" for leg, counters in counted.items()})
    dc.down(2)
ue.cmd("kill %iperf")
net.stop()
