//! Decodes 50 tokens over one stream and prints their ids: what a worker's loop does.
//!
//! Usage: decode ADDRESS ROWS.safetensors
//!
//! ADDRESS is unix:PATH or HOST:PORT.

mod rows;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

use pb::sampling_service_client::SamplingServiceClient;
use rows::Rows;

/// The wire contract, from proto/ by build.rs.
pub mod pb {
    tonic::include_proto!("tokendraw.v1");
}

const STEPS: usize = 50;
const DEADLINE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

type Client = SamplingServiceClient<Channel>;

/// One decode stream: messages go into `requests`, replies come in order.
struct Stream {
    requests: mpsc::Sender<pb::SampleTokensRequest>,
    replies: Streaming<pb::SampleTokensResponse>,
}

impl Stream {
    async fn open(mut client: Client) -> Result<Stream, Status> {
        let (requests, outgoing) = mpsc::channel(1);
        let mut call = Request::new(ReceiverStream::new(outgoing));
        call.set_timeout(DEADLINE); // of the whole stream
        let replies = client.stream_sample_tokens(call).await?.into_inner();
        Ok(Stream { requests, replies })
    }

    /// Sends one message and waits for its reply. A full server says when it will have room; any
    /// other refusal is an error of this message alone.
    async fn step(
        &mut self,
        request: pb::SampleTokensRequest,
    ) -> Result<pb::SampleTokensResponse, Box<dyn Error>> {
        loop {
            // When the stream has ended, the status that tells why is where replies are read.
            let _ = self.requests.send(request.clone()).await;
            let reply = self.replies.message().await?.ok_or("the server ended the stream")?;
            let Some(refusal) = &reply.error else {
                return Ok(reply);
            };
            if refusal.retry_after_ms == 0 {
                return Err(Status::new(refusal.code.into(), &refusal.message).into());
            }
            sleep(Duration::from_millis(refusal.retry_after_ms as u64)).await;
        }
    }
}

/// What the server says of itself. Every call may be repeated after UNAVAILABLE: a token is a
/// function of its request.
async fn server_info(client: &mut Client) -> Result<pb::GetServerInfoResponse, Status> {
    let end = Instant::now() + DEADLINE;
    loop {
        let mut call = Request::new(pb::GetServerInfoRequest {});
        call.set_timeout(end - Instant::now());
        match client.get_server_info(call).await {
            Err(status) if status.code() == Code::Unavailable && Instant::now() + PAUSE < end => {
                sleep(PAUSE).await
            }
            answer => return answer.map(tonic::Response::into_inner),
        }
    }
}

fn request(rows: &Rows, output: &[i32]) -> pb::SampleTokensRequest {
    let step = output.len();
    pb::SampleTokensRequest {
        step: step as i64,
        params: vec![pb::SamplingParams {
            temperature: Some(0.8),
            typical_p: Some(0.9),
            xtc_probability: Some(0.5),
            xtc_threshold: Some(0.1),
            repetition_penalty: Some(1.1),
            ..Default::default()
        }],
        rows: vec![pb::RowSpec {
            seed: Some(42),
            position: step as i64,
            output_ids: output.to_vec(),
            ..Default::default()
        }],
        timeout_ms: 10_000, // later than this nobody wants the token
        logits: Some(pb::LogitsTensor {
            vocab_size: rows.vocab_size,
            row_count: 1,
            data_type: pb::DataType::F32.into(),
            payload: Some(pb::logits_tensor::Payload::Inline(
                rows.rows[step % rows.rows.len()].clone(),
            )),
            ..Default::default()
        }),
        ..Default::default()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, address, path] = <[String; 3]>::try_from(std::env::args().collect::<Vec<_>>())
        .map_err(|_| "usage: decode ADDRESS ROWS.safetensors")?;
    let rows = Rows::read(Path::new(&path))?;

    let uri = if address.starts_with("unix:") { address } else { format!("http://{address}") };
    let mut client = Client::new(Endpoint::from_shared(uri)?.connect_lazy());
    let info = server_info(&mut client).await?;
    // gRPC takes no more than 4 MiB by itself.
    client = client.max_decoding_message_size(info.max_message_bytes.try_into()?);

    let mut stream = Stream::open(client).await?;
    let mut output = Vec::new();
    while output.len() < STEPS {
        let reply = stream.step(request(&rows, &output)).await?;
        if let Some(error) = reply.row_errors.first() {
            return Err(error.message.as_str().into());
        }
        output.extend(reply.token_ids);
    }
    println!("{}", output.iter().map(i32::to_string).collect::<Vec<_>>().join(" "));
    Ok(())
}
