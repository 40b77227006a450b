//! The structures and numbers of `minitopo_dc/quic/stack.h`.

use std::ffi::{c_char, c_int};

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    Ready,
    Confirmed,
    Data,
    Fin,
    Reset,
    Closed,
    PathAvailable,
    #[allow(dead_code)] // noq does not suspend paths
    PathSuspended,
    PathDeleted,
    DatagramFrame,
}

#[derive(Clone, Copy)]
#[repr(u64)]
pub enum Closer {
    Peer,
    PeerApplication,
    StatelessReset,
    Locally,
}

pub const PATHS: usize = 8;

#[repr(C)]
pub struct Scheduler {
    pub kind: c_int,
    weights: [c_int; PATHS],
    sent: [c_int; PATHS],
    turn: c_int,
    is_waiting: c_int,
}

#[repr(C)]
pub struct Configuration {
    pub is_client: c_int,
    pub certificate: *const c_char,
    pub key: *const c_char,
    pub alpn: *const c_char,
    pub server_name: *const c_char,
    pub congestion_control: *const c_char,
    pub qlog: *const c_char,
    pub experiment: *const c_char,
    pub multipath: u64,
    pub max_data: u64,
    pub max_stream_data: u64,
    pub idle_timeout_ms: u64,
    pub datagram_bytes: usize,
    pub datagram_frame: u32,
    pub is_tunnel: c_int,
    pub takes_turns: c_int,
    pub demoted: c_int,
    pub scheduler: Scheduler,
    pub now: u64,
}

#[repr(C)]
pub struct Datagram {
    pub offset: usize,
    pub length: usize,
    pub source: c_int, // -1: the host's first address
    pub destination: c_int,
}

#[repr(C)]
pub struct Event {
    pub kind: Kind,
    pub value: u64,
    pub offset: usize,
    pub length: usize,
}

#[derive(Default, Clone, Copy)]
#[repr(C)]
pub struct Path {
    pub id: u64,
    pub local: c_int,
    pub remote: c_int,
    pub verified: c_int,
    pub backup: c_int,
    pub demoted: c_int,
    pub cwnd: u64,
    pub in_flight: u64,
    pub smoothed_rtt_us: u64,
    pub minimum_rtt_us: u64,
    pub packets_sent: u64,
    pub packets_lost: u64,
    pub spurious_losses: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub bytes_acknowledged: u64,
    pub bytes_lost: u64,
}

#[repr(C)]
pub struct State {
    pub wake: u64,
    pub output: *const u8,
    pub output_length: usize,
    pub datagrams: *const Datagram,
    pub datagram_count: usize,
    pub input: *const u8,
    pub input_length: usize,
    pub events: *const Event,
    pub event_count: usize,
    pub notable_count: usize,
    pub deleted: *const Path,
    pub deleted_count: usize,
    pub version: u32,
    pub is_multipath: c_int,
    pub congestion_control: *const c_char,
    pub error: u64,
    pub reason: *const c_char,
}
