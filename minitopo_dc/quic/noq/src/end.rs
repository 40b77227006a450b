//! One end of a connection: it carries datagrams, streams and paths between `stack.h` and noq.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{CStr, CString, c_int};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use noq_proto::{
    Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    Event, FourTuple, Incoming, PathAbandonReason, PathEvent, PathId, PathStatus, ReadError,
    SendStream, StreamEvent, StreamId, VarInt,
};

use crate::abi::{self, Closer, Kind};
use crate::configuration::{Client, Failure, control_of, endpoint};

const NEVER: u64 = u64::MAX;
/// Bytes of streams that are worth reading without an event.
const ENOUGH_INPUT: usize = 65_536;
const VERSION: u32 = 1; // RFC 9000

/// One attempt at a connection.
struct Attempt {
    handle: ConnectionHandle,
    connection: Connection,
    /// The number of this end's address of path 0, which noq does not tell.
    local: c_int,
}

impl Attempt {
    /// Do what is due.
    fn expire(&mut self, now: Instant) {
        if self.connection.poll_timeout().is_some_and(|due| due <= now) {
            self.connection.handle_timeout(now);
        }
    }

    /// Tell the endpoint what it has to know; whether the connection is over.
    fn serve(&mut self, endpoint: &mut Endpoint) -> bool {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if event.is_drained() {
                return true;
            }
            if let Some(answer) = endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(answer);
            }
        }
        false
    }
}

/// What is still to be written on a stream.
#[derive(Default)]
struct Writing {
    queue: VecDeque<Bytes>,
    pattern: Option<Pattern>,
    has_end: bool,
}

struct Pattern {
    block: Bytes,
    sent: u64,
    length: u64,
}

impl Writing {
    /// Write as much as there is room for; whether that was all.
    fn write(&mut self, stream: &mut SendStream<'_>) -> bool {
        while let Some(front) = self.queue.front_mut() {
            match stream.write_chunks(&mut &mut [front.clone()][..]) {
                Ok(taken) if taken == front.len() => drop(self.queue.pop_front()),
                Ok(taken) => drop(front.split_to(taken)),
                Err(_) => return false,
            }
        }
        if let Some(pattern) = &mut self.pattern {
            while pattern.sent < pattern.length {
                match stream.write_chunks(&mut &mut [pattern.next()][..]) {
                    Ok(taken) => pattern.sent += taken as u64,
                    Err(_) => return false,
                }
            }
        }
        if self.has_end {
            let _ = stream.finish(); // the peer may have stopped it
        }
        true
    }
}

impl Pattern {
    fn next(&self) -> Bytes {
        let start = (self.sent % self.block.len() as u64) as usize;
        let left = self.length - self.sent;
        let length = (self.block.len() - start).min(usize::try_from(left).unwrap_or(usize::MAX));
        self.block.slice(start..start + length)
    }
}

pub struct End {
    pub state: abi::State,
    base: Instant,
    base_us: u64,
    endpoint: Endpoint,
    client: Option<Client>,
    attempts: Vec<Attempt>,
    /// The index of the attempt that is the connection.
    kept: usize,
    is_decided: bool,
    addresses: Vec<SocketAddr>,
    output: Vec<u8>,
    datagrams: Vec<abi::Datagram>,
    input: Vec<u8>,
    events: Vec<abi::Event>,
    notable: usize,
    deleted: Vec<abi::Path>,
    scratch: Vec<u8>,
    readable: BTreeSet<StreamId>,
    /// Streams of which something was read.
    begun: BTreeSet<StreamId>,
    writing: BTreeMap<StreamId, Writing>,
    validated: BTreeSet<PathId>,
    abandoned: BTreeSet<PathId>,
    reason: CString,
    is_closing: bool,
    is_over: bool,
}

impl End {
    pub fn new(given: &abi::Configuration) -> Result<Self, Failure> {
        let (endpoint, client) = endpoint(given)?;
        Ok(Self {
            state: empty_state(control_of(given.congestion_control)?),
            base: Instant::now(),
            base_us: given.now,
            endpoint,
            client,
            attempts: Vec::new(),
            kept: 0,
            is_decided: false,
            addresses: Vec::new(),
            output: Vec::new(),
            datagrams: Vec::new(),
            input: Vec::new(),
            events: Vec::new(),
            notable: 0,
            deleted: Vec::new(),
            scratch: Vec::new(),
            readable: BTreeSet::new(),
            begun: BTreeSet::new(),
            writing: BTreeMap::new(),
            validated: BTreeSet::new(),
            abandoned: BTreeSet::new(),
            reason: CString::default(),
            is_closing: false,
            is_over: false,
        })
    }

    fn at(&self, now: u64) -> Instant {
        self.base + Duration::from_micros(now - self.base_us)
    }

    fn in_us(&self, moment: Instant) -> u64 {
        self.base_us + (moment - self.base).as_nanos().div_ceil(1000) as u64
    }

    /// The connection, unless there is none or it is over.
    fn live(&mut self) -> Option<&mut Connection> {
        let is_live = !self.is_over && !self.is_closing;
        let attempt = self.attempts.get_mut(self.kept).filter(|_| is_live)?;
        Some(&mut attempt.connection)
    }

    pub fn is_disconnected(&self) -> bool {
        self.is_over || self.attempts.is_empty()
    }

    // Addresses.

    pub fn add_address(&mut self, ip: IpAddr, port: u16) -> c_int {
        self.addresses.push(SocketAddr::new(ip, port));
        self.addresses.len() as c_int - 1
    }

    fn address(&self, number: c_int) -> Option<SocketAddr> {
        self.addresses.get(usize::try_from(number).ok()?).copied()
    }

    fn number(&self, address: SocketAddr) -> c_int {
        position(&self.addresses, |known| *known == address).unwrap_or(-1)
    }

    /// The number of this end's address, which noq knows without a port, if at all.
    fn local(&self, ip: Option<IpAddr>, first: c_int) -> c_int {
        ip.and_then(|ip| position(&self.addresses, |known| known.ip() == ip)).unwrap_or(first)
    }

    // Datagrams and time.

    pub fn connect(&mut self, local: c_int, remote: c_int, now: u64) -> Option<()> {
        let (at, to) = (self.at(now), self.address(remote)?);
        let Client { configuration, server_name } = self.client.as_ref()?;
        let (handle, connection) =
            self.endpoint.connect(at, configuration.clone(), to, server_name).ok()?;
        self.attempts.push(Attempt { handle, connection, local });
        self.state.wake = now;
        Some(())
    }

    pub fn receive(
        &mut self,
        data: &[u8],
        from: c_int,
        to: c_int,
        ecn: c_int,
        now: u64,
    ) -> Option<c_int> {
        let (at, own) = (self.at(now), self.address(to)?);
        let path = FourTuple::new(self.address(from)?, Some(own.ip()));
        let code = EcnCodepoint::from_bits(ecn as u8);
        self.scratch.clear();
        match self.endpoint.handle(at, path, code, BytesMut::from(data), &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let mut attempts = self.attempts.iter_mut();
                if let Some(attempt) = attempts.find(|attempt| attempt.handle == handle) {
                    attempt.connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(incoming, to, at),
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.drive(now);
        self.set_state_at(now);
        Some(self.worth_reading())
    }

    fn accept(&mut self, incoming: Incoming, local: c_int, at: Instant) {
        if self.is_decided {
            self.endpoint.ignore(incoming);
            return;
        }
        // What cannot be accepted is garbage, or a client without a common version: forgotten.
        if let Ok((handle, connection)) =
            self.endpoint.accept(incoming, at, &mut self.scratch, None)
        {
            self.attempts.push(Attempt { handle, connection, local });
        }
    }

    pub fn send(&mut self, now: u64) -> c_int {
        self.output.clear();
        self.datagrams.clear();
        let at = self.at(now);
        self.attempts.iter_mut().for_each(|attempt| attempt.expire(at));
        self.drive(now);
        for index in 0..self.attempts.len() {
            while self.transmit(index, at) {}
        }
        self.drive(now); // what sending has brought: events for the endpoint
        if self.is_closing {
            self.be_over(Closer::Locally, None, "");
        }
        self.set_state();
        self.worth_reading()
    }

    /// Make one datagram of an attempt; whether there was one.
    fn transmit(&mut self, index: usize, at: Instant) -> bool {
        self.scratch.clear();
        let Attempt { connection, local, .. } = &mut self.attempts[index];
        let first = *local;
        let Some(made) = connection.poll_transmit(at, NonZeroUsize::MIN, &mut self.scratch) else {
            return false;
        };
        self.datagrams.push(abi::Datagram {
            offset: self.output.len(),
            length: made.size,
            source: self.local(made.src_ip, first),
            destination: self.number(made.destination),
        });
        if self.output.is_empty() {
            std::mem::swap(&mut self.output, &mut self.scratch); // most often it is the only one
        } else {
            self.output.extend_from_slice(&self.scratch);
        }
        true
    }

    /// Note what happened, and read streams.
    fn drive(&mut self, now: u64) {
        let at = self.at(now);
        for index in 0..self.attempts.len() {
            let is_drained = self.attempts[index].serve(&mut self.endpoint);
            while let Some(event) = self.attempts[index].connection.poll() {
                self.on_event(index, event, at);
            }
            if is_drained && index == self.kept {
                self.be_over(Closer::Locally, None, "");
            }
        }
        self.read();
    }

    fn worth_reading(&self) -> c_int {
        (self.notable > 0 || self.input.len() >= ENOUGH_INPUT).into()
    }

    fn set_state(&mut self) {
        let wakes = self.attempts.iter().filter_map(|attempt| attempt.connection.poll_timeout());
        let wake = wakes.min().filter(|_| !self.is_over).map_or(NEVER, |due| self.in_us(due));
        self.set_state_at(wake);
    }

    fn set_state_at(&mut self, wake: u64) {
        self.state = abi::State {
            wake,
            output: self.output.as_ptr(),
            output_length: self.output.len(),
            datagrams: self.datagrams.as_ptr(),
            datagram_count: self.datagrams.len(),
            input: self.input.as_ptr(),
            input_length: self.input.len(),
            events: self.events.as_ptr(),
            event_count: self.events.len(),
            notable_count: self.notable,
            deleted: self.deleted.as_ptr(),
            deleted_count: self.deleted.len(),
            ..self.state
        };
    }

    pub fn taken(&mut self) {
        self.input.clear();
        self.events.clear();
        self.deleted.clear();
        self.notable = 0;
        self.set_state();
    }

    // What happens.

    fn add_event(&mut self, kind: Kind, value: u64, offset: usize, length: usize) {
        self.notable += usize::from(kind != Kind::Data);
        self.events.push(abi::Event { kind, value, offset, length });
    }

    fn be_over(&mut self, by: Closer, error: Option<u64>, reason: &str) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        self.state.error = error.unwrap_or(0);
        if !reason.is_empty() {
            self.reason = CString::new(reason.replace('\0', " ")).unwrap_or_default();
            self.state.reason = self.reason.as_ptr();
        }
        self.add_event(Kind::Closed, by as u64, 0, 0);
    }

    fn be_ready(&mut self) {
        self.validated.insert(PathId::ZERO);
        let connection = &self.attempts[self.kept].connection;
        self.state.is_multipath = connection.is_multipath_negotiated().into();
        self.state.version = VERSION;
        self.add_event(Kind::Ready, 0, 0, 0);
    }

    /// Keep one of several attempts: a client the first whose handshake is complete, a server the
    /// one on which the client sends data.
    fn decide(&mut self, index: usize, event: &Event, at: Instant) {
        let is_client = self.client.is_some();
        let decides = match event {
            Event::Connected => is_client,
            Event::Stream(StreamEvent::Opened { .. }) => !is_client,
            _ => false,
        };
        if self.is_decided || !decides {
            return;
        }
        self.is_decided = true;
        let was_kept = self.kept == index;
        self.kept = index;
        if !was_kept && !is_client {
            self.be_ready();
        }
        for (other, attempt) in self.attempts.iter_mut().enumerate() {
            if is_client && other != index {
                attempt.connection.close(at, VarInt::from_u32(0), Bytes::new());
            }
        }
    }

    fn on_event(&mut self, index: usize, event: Event, at: Instant) {
        self.decide(index, &event, at);
        if index != self.kept {
            return;
        }
        match event {
            Event::Connected => self.be_ready(),
            Event::HandshakeConfirmed => self.add_event(Kind::Confirmed, 0, 0, 0),
            Event::ConnectionLost { reason } => self.on_lost(&reason),
            Event::Stream(event) => self.on_stream_event(event),
            Event::Path(event) => self.on_path_event(event),
            Event::DatagramReceived => self.read_datagrams(),
            _ => {}
        }
    }

    fn on_lost(&mut self, reason: &ConnectionError) {
        let is_rival = self.client.is_none() && !self.is_decided && self.attempts.len() > 1;
        if is_rival {
            return; // the client has given this attempt up
        }
        let words = reason.to_string();
        match reason {
            ConnectionError::TimedOut => self.be_over(Closer::Locally, None, "idle timeout"),
            ConnectionError::Reset => self.be_over(Closer::StatelessReset, None, &words),
            ConnectionError::ApplicationClosed(close) => {
                let error = close.error_code.into_inner();
                let words = if error == 0 { "" } else { &words };
                self.be_over(Closer::PeerApplication, Some(error), words);
            }
            ConnectionError::ConnectionClosed(close) => {
                self.be_over(Closer::Peer, Some(close.error_code.into()), &words);
            }
            ConnectionError::TransportError(error) => {
                self.be_over(Closer::Locally, Some(error.code.into()), &words);
            }
            _ => self.be_over(Closer::Locally, None, &words),
        }
    }

    // Streams.

    fn on_stream_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Opened { dir } => {
                let Some(connection) = self.live() else { return };
                let opened: Vec<_> =
                    std::iter::from_fn(|| connection.streams().accept(dir)).collect();
                self.readable.extend(opened);
            }
            StreamEvent::Readable { id } => drop(self.readable.insert(id)),
            StreamEvent::Writable { id } => self.write_on(id),
            StreamEvent::Stopped { id, .. } => {
                self.writing.remove(&id);
                self.add_event(Kind::Reset, id.into(), 0, 0);
            }
            _ => {}
        }
    }

    fn read(&mut self) {
        while let Some(id) = self.readable.pop_first() {
            let (start, end) = (self.input.len(), self.read_stream(id));
            let length = self.input.len() - start;
            if length > 0 {
                self.notable += usize::from(self.begun.insert(id)); // when it came is a result
                self.add_data(id.into(), start, length);
            }
            if let Some(kind) = end {
                self.begun.remove(&id);
                self.add_event(kind, id.into(), 0, 0);
            }
        }
    }

    /// Append what has arrived of a stream to the input; how it ends, if it does.
    fn read_stream(&mut self, id: StreamId) -> Option<Kind> {
        let connection = &mut self.attempts.get_mut(self.kept)?.connection;
        let mut stream = connection.recv_stream(id);
        let mut chunks = stream.read(true).ok()?;
        let end = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.input.extend_from_slice(&chunk.bytes),
                Ok(None) => break Some(Kind::Fin),
                Err(ReadError::Blocked) => break None,
                Err(ReadError::Reset(_)) => break Some(Kind::Reset),
            }
        };
        let _ = chunks.finalize(); // whether to send: `send` asks in any case
        end
    }

    fn add_data(&mut self, stream: u64, offset: usize, length: usize) {
        match self.events.last_mut() {
            Some(last) if last.kind == Kind::Data && last.value == stream => last.length += length,
            _ => self.add_event(Kind::Data, stream, offset, length),
        }
    }

    fn read_datagrams(&mut self) {
        while let Some(data) = self.live().and_then(|connection| connection.datagrams().recv()) {
            let offset = self.input.len();
            self.input.extend_from_slice(&data);
            self.add_event(Kind::DatagramFrame, 0, offset, data.len());
        }
    }

    pub fn open_stream(&mut self, is_unidirectional: bool) -> Option<u64> {
        let direction = if is_unidirectional { Dir::Uni } else { Dir::Bi };
        self.live()?.streams().open(direction).map(u64::from)
    }

    fn write_on(&mut self, id: StreamId) {
        let Some(attempt) = self.attempts.get_mut(self.kept) else { return };
        if let Some(writing) = self.writing.get_mut(&id)
            && writing.write(&mut attempt.connection.send_stream(id))
        {
            self.writing.remove(&id);
        }
    }

    pub fn write(&mut self, stream: u64, data: &[u8], fin: bool) -> Option<()> {
        self.live()?;
        let id = stream_id(stream)?;
        let writing = self.writing.entry(id).or_default();
        writing.queue.extend((!data.is_empty()).then(|| Bytes::copy_from_slice(data)));
        writing.has_end |= fin;
        self.write_on(id);
        Some(())
    }

    /// Write `length` bytes of a block that is repeated, and end the stream; the block must outlive
    /// the end.
    pub fn write_pattern(&mut self, stream: u64, block: &'static [u8], length: u64) -> Option<()> {
        self.live()?;
        let id = stream_id(stream)?;
        let writing = self.writing.entry(id).or_default();
        writing.pattern = Some(Pattern { block: Bytes::from_static(block), sent: 0, length });
        writing.has_end = true;
        self.write_on(id);
        Some(())
    }

    pub fn reset_stream(&mut self, stream: u64, error: u64) -> Option<()> {
        let (id, code) = (stream_id(stream)?, VarInt::from_u64(error).ok()?);
        self.writing.remove(&id);
        let _ = self.live()?.send_stream(id).reset(code); // it may have ended
        Some(())
    }

    pub fn stop_sending(&mut self, stream: u64, error: u64) -> Option<()> {
        let (id, code) = (stream_id(stream)?, VarInt::from_u64(error).ok()?);
        let _ = self.live()?.recv_stream(id).stop(code); // it may have ended
        Some(())
    }

    pub fn send_datagram(&mut self, data: &[u8]) -> Option<()> {
        let frame = Bytes::copy_from_slice(data);
        self.live()?.datagrams().send(frame, false).ok()
    }

    /// How many DATAGRAM frames wait for the congestion windows, and the bytes of them all.
    pub fn waiting_datagrams(&mut self) -> Option<(usize, usize)> {
        Some(self.live()?.datagrams().waiting())
    }

    // Paths.

    fn on_path_event(&mut self, event: PathEvent) {
        match event {
            PathEvent::Established { id, .. } => {
                self.validated.insert(id);
                self.add_event(Kind::PathAvailable, number_of(id), 0, 0);
            }
            // noq leaves it to the application to send as the peer asks; a server has no wish of
            // its own.
            PathEvent::RemoteStatus { id, status, .. } if self.client.is_none() => {
                let _ = self.live().map(|connection| connection.set_path_status(id, status));
            }
            PathEvent::Abandoned { id, reason, .. } => self.on_abandoned(id, &reason),
            _ => {}
        }
    }

    fn on_abandoned(&mut self, id: PathId, reason: &PathAbandonReason) {
        let is_planned = match reason {
            PathAbandonReason::ApplicationClosed { .. } => true,
            PathAbandonReason::RemoteAbandoned { .. } => self.client.is_none(), // clients plan
            _ => false,
        };
        self.abandoned.insert(id);
        let known = self.path(id).unwrap_or(abi::Path { local: -1, remote: -1, ..Default::default() });
        let demoted = is_planned.into();
        self.deleted.push(abi::Path { id: number_of(id), demoted, ..known });
        self.add_event(Kind::PathDeleted, number_of(id), self.deleted.len() - 1, 0);
    }

    pub fn open_path(&mut self, local: c_int, remote: c_int, now: u64) -> Option<()> {
        let (from, to, at) = (self.address(local)?, self.address(remote)?, self.at(now));
        let ends = FourTuple::new(to, Some(from.ip()));
        self.live()?.open_path(ends, PathStatus::Available, at).ok().map(drop)
    }

    pub fn abandon_path(&mut self, path: u64, reason: u64, now: u64) -> Option<()> {
        let (at, code) = (self.at(now), VarInt::from_u64(reason).ok()?);
        self.live()?.close_path(at, path_id(path)?, code).ok()
    }

    pub fn set_path_status(&mut self, path: u64, backup: bool) -> Option<()> {
        let status = if backup { PathStatus::Backup } else { PathStatus::Available };
        self.live()?.set_path_status(path_id(path)?, status).ok().map(drop)
    }

    pub fn paths(&mut self) -> Vec<abi::Path> {
        let known = self.attempts.get(self.kept).map(|attempt| attempt.connection.paths());
        known.into_iter().flatten().filter_map(|id| self.path(id)).collect()
    }

    fn path(&mut self, id: PathId) -> Option<abi::Path> {
        let Attempt { connection, local, .. } = self.attempts.get_mut(self.kept)?;
        let first = *local;
        let ends = connection.network_path(id).ok()?;
        let is_backup = connection.path_status(id).ok()? == PathStatus::Backup;
        let counted = connection.path_stats(id)?;
        let measured = counted.min_rtt.is_some();
        let in_us = |time: Duration| if measured { time.as_micros() as u64 } else { 0 };
        Some(abi::Path {
            id: number_of(id),
            local: self.local(ends.local_ip(), first),
            remote: self.number(ends.remote()),
            verified: self.validated.contains(&id).into(),
            backup: is_backup.into(),
            demoted: self.abandoned.contains(&id).into(),
            cwnd: counted.cwnd,
            in_flight: counted.bytes_in_flight,
            smoothed_rtt_us: in_us(counted.rtt),
            minimum_rtt_us: in_us(counted.min_rtt.unwrap_or_default()),
            packets_sent: counted.sent_packets,
            packets_lost: counted.lost_packets,
            spurious_losses: counted.spurious_congestion_events,
            bytes_sent: counted.udp_tx.bytes,
            bytes_received: counted.udp_rx.bytes,
            bytes_acknowledged: counted.acked_bytes,
            bytes_lost: counted.lost_bytes,
        })
    }

    pub fn close(&mut self, error: u64, reason: &[u8], now: u64) -> Option<()> {
        let (at, code) = (self.at(now), VarInt::from_u64(error).ok()?);
        self.live()?.close(at, code, Bytes::copy_from_slice(reason));
        self.is_closing = true;
        self.state.wake = now;
        Some(())
    }
}

fn empty_state(congestion_control: &'static CStr) -> abi::State {
    abi::State {
        wake: NEVER,
        output: std::ptr::null(),
        output_length: 0,
        datagrams: std::ptr::null(),
        datagram_count: 0,
        input: std::ptr::null(),
        input_length: 0,
        events: std::ptr::null(),
        event_count: 0,
        notable_count: 0,
        deleted: std::ptr::null(),
        deleted_count: 0,
        version: 0,
        is_multipath: 0,
        congestion_control: congestion_control.as_ptr(),
        error: 0,
        reason: std::ptr::null(),
    }
}

fn position<T>(items: &[T], is_it: impl Fn(&T) -> bool) -> Option<c_int> {
    items.iter().position(is_it).map(|index| index as c_int)
}

fn number_of(id: PathId) -> u64 {
    id.to_string().parse().unwrap_or_else(|_| panic!("path id {id}"))
}

fn path_id(number: u64) -> Option<PathId> {
    u32::try_from(number).ok().map(PathId::from)
}

fn stream_id(number: u64) -> Option<StreamId> {
    VarInt::from_u64(number).ok().map(StreamId::from)
}
