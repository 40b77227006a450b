//! The interface of `minitopo_dc/quic/stack.h` for noq-proto: no clock, no sockets, no threads.
//!
//! A panic does not cross into C: the call fails, and the end is only to be freed.

mod abi;
mod configuration;
mod end;
mod random;

use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use end::End;

const FAILED: c_int = -1;

/// Call with the end; `failed` stands for a panic and for `None`.
fn within<T>(end: *mut End, failed: T, body: impl FnOnce(&mut End) -> Option<T>) -> T {
    let end = unsafe { &mut *end };
    catch_unwind(AssertUnwindSafe(|| body(end))).ok().flatten().unwrap_or(failed)
}

/// Call what gives nothing; 0, or `FAILED`.
fn done(end: *mut End, body: impl FnOnce(&mut End) -> Option<()>) -> c_int {
    within(end, FAILED, |end| body(end).map(|()| 0))
}

unsafe fn bytes<'a>(data: *const u8, length: usize) -> &'a [u8] {
    if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, length) } }
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_seed(seed: u64) -> c_int {
    random::seed(seed);
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_create(
    configuration: *const abi::Configuration,
    error: *mut *const c_char,
) -> *mut End {
    let made = catch_unwind(|| End::new(unsafe { &*configuration }));
    match made.unwrap_or_else(|_| Err("panic".into())) {
        Ok(end) => Box::into_raw(Box::new(end)),
        Err(reason) => {
            let words = CString::new(reason).unwrap_or_default();
            unsafe { *error = words.into_raw() }; // kept: a caller has it once, if ever
            std::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_free(end: *mut End) {
    if !end.is_null() {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(end) })));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_get_state(end: *mut End) -> *const abi::State {
    unsafe { &raw const (*end).state }
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_address(end: *mut End, ip: *const c_char, port: c_int) -> c_int {
    within(end, FAILED, |end| {
        let ip = unsafe { CStr::from_ptr(ip) }.to_str().ok()?.parse().ok()?;
        Some(end.add_address(ip, u16::try_from(port).ok()?))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_connect(end: *mut End, local: c_int, remote: c_int, now: u64) -> c_int {
    done(end, |end| end.connect(local, remote, now))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_receive(
    end: *mut End,
    datagram: *const u8,
    length: usize,
    from: c_int,
    to: c_int,
    ecn: c_int,
    now: u64,
) -> c_int {
    let data = unsafe { bytes(datagram, length) };
    within(end, FAILED, |end| end.receive(data, from, to, ecn, now))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_send(end: *mut End, now: u64) -> c_int {
    within(end, FAILED, |end| Some(end.send(now)))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_taken(end: *mut End) {
    done(end, |end| {
        end.taken();
        Some(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_open_stream(end: *mut End, is_unidirectional: c_int) -> u64 {
    within(end, u64::MAX, |end| end.open_stream(is_unidirectional != 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_write(
    end: *mut End,
    stream: u64,
    data: *const u8,
    length: usize,
    fin: c_int,
) -> c_int {
    let data = unsafe { bytes(data, length) };
    done(end, |end| end.write(stream, data, fin != 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_write_pattern(
    end: *mut End,
    stream: u64,
    block: *const u8,
    block_length: usize,
    length: u64,
) -> c_int {
    let block = unsafe { bytes(block, block_length) };
    done(end, |end| end.write_pattern(stream, block, length))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_stop_sending(end: *mut End, stream: u64, error: u64) -> c_int {
    done(end, |end| end.stop_sending(stream, error))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_reset_stream(end: *mut End, stream: u64, error: u64) -> c_int {
    done(end, |end| end.reset_stream(stream, error))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_send_datagram(end: *mut End, data: *const u8, length: usize) -> c_int {
    let data = unsafe { bytes(data, length) };
    done(end, |end| end.send_datagram(data))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_waiting_datagrams(end: *mut End, all_bytes: *mut u64) -> c_int {
    within(end, FAILED, |end| {
        let (count, waiting) = end.waiting_datagrams()?;
        if let Some(place) = unsafe { all_bytes.as_mut() } {
            *place += waiting as u64;
        }
        c_int::try_from(count).ok()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_open_path(end: *mut End, local: c_int, remote: c_int, now: u64) -> c_int {
    done(end, |end| end.open_path(local, remote, now))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_abandon_path(end: *mut End, path: u64, reason: u64, now: u64) -> c_int {
    done(end, |end| end.abandon_path(path, reason, now))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_set_path_status(end: *mut End, path: u64, backup: c_int, _now: u64) -> c_int {
    done(end, |end| end.set_path_status(path, backup != 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_paths(end: *mut End, paths: *mut abi::Path, room: c_int) -> c_int {
    within(end, FAILED, |end| {
        let room = unsafe { std::slice::from_raw_parts_mut(paths, usize::try_from(room).ok()?) };
        let known = end.paths();
        let count = known.len().min(room.len());
        room[..count].copy_from_slice(&known[..count]);
        Some(count as c_int)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_close(end: *mut End, error: u64, reason: *const c_char, now: u64) -> c_int {
    let words = if reason.is_null() { c"" } else { unsafe { CStr::from_ptr(reason) } };
    done(end, |end| end.close(error, words.to_bytes(), now))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdc_is_disconnected(end: *mut End) -> c_int {
    within(end, 1, |end| Some(end.is_disconnected().into()))
}

/// All of noq's congestion controls send with ECT(0) (RFC 3168).
#[unsafe(no_mangle)]
pub extern "C" fn mdc_ecn(congestion_control: *const c_char) -> c_int {
    let is_known = configuration::control_of(congestion_control).is_ok();
    if is_known { 2 } else { FAILED }
}
