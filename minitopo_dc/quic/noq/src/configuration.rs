//! What an end is made of: TLS, transport parameters and congestion control.

use std::ffi::{CStr, c_char};
use std::sync::Arc;
use std::time::Duration;

use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{
    ClientConfig, Endpoint, EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt,
};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::abi;
use crate::random;

/// RFC 9002, section 7.2.
const INITIAL_PACKETS: u64 = 10;
const STREAMS: u32 = 100_000;
/// Bytes of DATAGRAM frames that wait, in either direction: the user of an end limits them.
const DATAGRAM_BUFFER: usize = 1 << 30;

/// Without an end of a silent path noq repeats what was in flight there on that path only, and a
/// stream waits for it. A path that is not used is kept alive. Both times are this project's.
const PATH_IDLE: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_millis(500);

/// Bytes/s that no leg has.
const NO_PACING: u64 = 1 << 40;

pub type Failure = String;

/// What `Endpoint::connect` of a client needs.
pub struct Client {
    pub configuration: ClientConfig,
    pub server_name: String,
}

fn words(error: impl std::fmt::Display) -> Failure {
    error.to_string()
}

fn text(place: *const c_char) -> Result<&'static str, Failure> {
    if place.is_null() {
        return Err("a text is missing".into());
    }
    unsafe { CStr::from_ptr(place) }.to_str().map_err(words)
}

/// The name of a congestion control as the state has it, which outlives the end.
pub fn control_of(name: *const c_char) -> Result<&'static CStr, Failure> {
    match text(name)? {
        "cubic" => Ok(c"cubic"),
        "newreno" => Ok(c"newreno"),
        "bbr3" => Ok(c"bbr3"),
        _ => Err("no such congestion control".into()),
    }
}

/// What an experiment changes, none without a name: whether CUBIC has HyStart, and its pacing rate.
fn experiment(given: &abi::Configuration) -> Result<(bool, Option<u64>), Failure> {
    if given.experiment.is_null() {
        return Ok((false, None));
    }
    match (text(given.experiment)?, text(given.congestion_control)?) {
        ("hystart", "cubic") => Ok((true, None)),
        ("no-pacing", "cubic") => Ok((false, Some(NO_PACING))),
        _ => Err("noq's experiments, of cubic only: hystart, no-pacing".into()),
    }
}

fn controller(
    given: &abi::Configuration,
) -> Result<Arc<dyn ControllerFactory + Send + Sync>, Failure> {
    let window = INITIAL_PACKETS * given.datagram_bytes as u64;
    let (mut cubic, mut newreno) = (CubicConfig::default(), NewRenoConfig::default());
    let (hystart, rate) = experiment(given)?;
    cubic.initial_window(window).hystart(hystart).pacing_rate(rate);
    Ok(match control_of(given.congestion_control)?.to_bytes() {
        b"cubic" => Arc::new(cubic),
        b"newreno" => Arc::new(std::mem::take(newreno.initial_window(window))),
        _ => {
            let mut bbr = Bbr3Config::default();
            let seed = random::bytes::<16>();
            bbr.initial_window(window).probe_rng_seed(Some(seed));
            Arc::new(bbr)
        }
    })
}

fn transport(given: &abi::Configuration) -> Result<TransportConfig, Failure> {
    let number = |value: u64| VarInt::from_u64(value).map_err(words);
    let datagram_bytes = u16::try_from(given.datagram_bytes).map_err(words)?;
    let mut made = TransportConfig::default();
    made.congestion_controller_factory(controller(given)?)
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(STREAMS))
        .send_fairness(given.takes_turns != 0)
        .initial_mtu(datagram_bytes)
        .min_mtu(datagram_bytes)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .datagram_send_buffer_size(DATAGRAM_BUFFER)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(IdleTimeout::from(number(given.idle_timeout_ms)?)));
    if given.datagram_frame > 0 || given.is_client == 0 {
        made.datagram_receive_buffer_size(Some(DATAGRAM_BUFFER));
    }
    if given.max_data > 0 {
        // What is not acknowledged, which the peer's flow control limits to half of that.
        made.receive_window(number(given.max_data)?)
            .send_window(2 * given.max_data);
    }
    if given.max_stream_data > 0 {
        made.stream_receive_window(number(given.max_stream_data)?);
    }
    if given.multipath > 1 {
        made.max_concurrent_multipath_paths(u32::try_from(given.multipath).map_err(words)?)
            .default_path_keep_alive_interval(Some(KEEP_ALIVE))
            .default_path_max_idle_timeout(Some(PATH_IDLE));
    }
    Ok(made)
}

/// Trusts one certificate, whatever its names and dates.
#[derive(Debug)]
struct Exactly(CertificateDer<'static>, WebPkiSupportedAlgorithms);

impl rustls::client::danger::ServerCertVerifier for Exactly {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        if *end == self.0 {
            return Ok(rustls::client::danger::ServerCertVerified::assertion());
        }
        Err(rustls::Error::General("another certificate".into()))
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.1)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.1.supported_schemes()
    }
}

/// Read a PEM file.
fn pem<T: PemObject>(place: *const c_char) -> Result<T, Failure> {
    T::from_pem_file(text(place)?).map_err(|e| format!("noq refused the certificate or the key: {e}"))
}

fn client(given: &abi::Configuration) -> Result<Client, Failure> {
    let provider = random::provider();
    let algorithms = provider.signature_verification_algorithms;
    let certificate = pem::<CertificateDer<'_>>(given.certificate)?;
    let mut tls = rustls::ClientConfig::builder_with_details(provider, Arc::new(random::FixedTime))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(words)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Exactly(certificate, algorithms)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![text(given.alpn)?.into()];
    tls.resumption = rustls::client::Resumption::disabled();
    let crypto = QuicClientConfig::try_from(tls).map_err(words)?;
    let mut configuration = ClientConfig::new(Arc::new(crypto));
    configuration
        .transport_config(Arc::new(transport(given)?))
        .initial_dst_cid_provider(Arc::new(|| random::cid(8)));
    Ok(Client { configuration, server_name: text(given.server_name)?.into() })
}

fn server(given: &abi::Configuration) -> Result<ServerConfig, Failure> {
    let time = Arc::new(random::FixedTime);
    let certificate = pem::<CertificateDer<'_>>(given.certificate)?;
    let key = pem::<PrivateKeyDer<'_>>(given.key)?;
    let mut tls = rustls::ServerConfig::builder_with_details(random::provider(), time.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(words)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .map_err(|e| format!("noq refused the certificate or the key: {e}"))?;
    tls.alpn_protocols = vec![text(given.alpn)?.into()];
    tls.send_tls13_tickets = 0;
    let crypto = QuicServerConfig::try_from(tls).map_err(words)?;
    let mut made = ServerConfig::new(Arc::new(crypto), Arc::new(random::OpenTokens));
    made.transport_config(Arc::new(transport(given)?))
        .time_source(time);
    Ok(made)
}

/// Make the endpoint of an end, and what it connects with if it is a client's.
pub fn endpoint(given: &abi::Configuration) -> Result<(Endpoint, Option<Client>), Failure> {
    if given.scheduler.kind != 0 || given.demoted != 0 {
        return Err("noq has one scheduler of paths, and one way to give paths up".into());
    }
    if !given.qlog.is_null() {
        return Err("this build of noq writes no qlog".into());
    }
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &random::bytes::<32>());
    let mut shared = EndpointConfig::new(Arc::new(key));
    shared
        .rng_seed(Some(random::bytes::<32>()))
        .cid_generator(Arc::new(|| Box::new(random::Cids)));
    if given.is_client != 0 {
        let client = client(given)?;
        return Ok((Endpoint::new(Arc::new(shared), None, false), Some(client)));
    }
    let server = Arc::new(server(given)?);
    Ok((Endpoint::new(Arc::new(shared), Some(server), false), None))
}
