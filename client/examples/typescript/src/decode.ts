/**
 * Decodes 50 tokens over one stream and prints their ids: what a worker's loop
 * does.
 *
 * Usage: node dist/decode.js ADDRESS ROWS.safetensors
 *
 * ADDRESS is unix:PATH or HOST:PORT.
 */

import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';

import * as grpc from '@grpc/grpc-js';
import * as protoLoader from '@grpc/proto-loader';

import type {ProtoGrpcType} from './generated/sampling';
import type {GetServerInfoResponse__Output} from './generated/tokendraw/v1/GetServerInfoResponse';
import type {SampleTokensRequest} from './generated/tokendraw/v1/SampleTokensRequest';
import type {SampleTokensResponse__Output} from './generated/tokendraw/v1/SampleTokensResponse';
import type {SamplingServiceClient} from './generated/tokendraw/v1/SamplingService';
import {readRows, type Rows} from './rows';

const STEPS = 50;
const DEADLINE_MS = 60_000;
const PAUSE_MS = 50;

// The same options as in package.json, where the types are made.
const definition = protoLoader.loadSync('tokendraw/v1/sampling.proto', {
  includeDirs: [join(__dirname, '../proto')],
  defaults: true,
  oneofs: true,
  longs: String,
  enums: String,
});
const {tokendraw} = grpc.loadPackageDefinition(definition) as unknown as ProtoGrpcType;

function connect(address: string, options?: grpc.ClientOptions): SamplingServiceClient {
  return new tokendraw.v1.SamplingService(address, grpc.credentials.createInsecure(), options);
}

/**
 * What the server says of itself. Every call may be repeated after UNAVAILABLE:
 * a token is a function of its request.
 */
async function serverInfo(address: string, deadline: Date): Promise<GetServerInfoResponse__Output> {
  const client = connect(address);
  try {
    for (;;) {
      try {
        return await new Promise((resolve, reject) =>
          client.getServerInfo({}, {deadline}, (error, info) =>
            info ? resolve(info) : reject(error)
          )
        );
      } catch (error) {
        if ((error as grpc.ServiceError).code !== grpc.status.UNAVAILABLE) throw error;
        if (Date.now() + PAUSE_MS >= deadline.getTime()) throw error;
        await sleep(PAUSE_MS);
      }
    }
  } finally {
    client.close();
  }
}

/** One decode stream: messages are written, replies come in order. */
class Stream {
  private readonly replies: AsyncIterator<SampleTokensResponse__Output>;

  constructor(
    private readonly call: grpc.ClientDuplexStream<
      SampleTokensRequest,
      SampleTokensResponse__Output
    >
  ) {
    this.replies = call[Symbol.asyncIterator]();
  }

  /**
   * Sends one message and waits for its reply. A full server says when it will
   * have room; any other refusal is an error of this message alone.
   */
  async step(request: SampleTokensRequest): Promise<SampleTokensResponse__Output> {
    for (;;) {
      this.call.write(request);
      const {done, value: reply} = await this.replies.next();
      if (done) throw new Error('the server ended the stream');
      if (!reply.error) return reply;
      const {code, message, retryAfterMs} = reply.error;
      if (retryAfterMs === 0) throw new Error(`${grpc.status[code]}: ${message}`);
      await sleep(retryAfterMs);
    }
  }

  close(): void {
    this.call.cancel();
  }
}

function request({vocabSize, rows}: Rows, output: number[]): SampleTokensRequest {
  const step = output.length;
  return {
    step,
    params: [
      {
        temperature: 0.8,
        typicalP: 0.9,
        xtcProbability: 0.5,
        xtcThreshold: 0.1,
        repetitionPenalty: 1.1,
      },
    ],
    rows: [{seed: 42, position: step, outputIds: output}],
    timeoutMs: 10_000, // later than this nobody wants the token
    logits: {
      vocabSize,
      rowCount: 1,
      dataType: 'DATA_TYPE_F32',
      inline: rows[step % rows.length],
    },
  };
}

async function main([address, path]: string[]): Promise<void> {
  if (!address || !path) throw new Error('usage: decode ADDRESS ROWS.safetensors');
  const rows = readRows(path);
  const deadline = new Date(Date.now() + DEADLINE_MS);
  const info = await serverInfo(address, deadline);
  // gRPC takes no more than 4 MiB by itself.
  const client = connect(address, {
    'grpc.max_receive_message_length': Number(info.maxMessageBytes),
  });
  const stream = new Stream(client.streamSampleTokens({deadline}));
  try {
    const output: number[] = [];
    while (output.length < STEPS) {
      const reply = await stream.step(request(rows, output));
      if (reply.rowErrors[0]) throw new Error(reply.rowErrors[0].message);
      output.push(...reply.tokenIds);
    }
    console.log(output.join(' '));
  } finally {
    stream.close();
    client.close();
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(String(error));
  process.exitCode = 1;
});
