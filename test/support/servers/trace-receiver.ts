import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as it arrived. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly resource: Readonly<Record<string, string | number>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** Whether the span is marked as failed. */
  readonly failed: boolean;
}

export interface TraceReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The exact bytes of every request. */
  readonly bodies: readonly Buffer[];
  readonly headers: readonly IncomingHttpHeaders[];
  close(): Promise<void>;
}

/** Starts a receiver of traces that speaks OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp) in protobuf. */
export async function startTraceReceiver(): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    bodies.push(body);
    headers.push(req.headers);
    if (req.url === '/v1/traces') spans.push(...spansIn(body));
    res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    headers,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Field numbers as in opentelemetry/proto/trace/v1/trace.proto. */
function spansIn(body: Buffer): ReceivedSpan[] {
  return messages(body, 1).flatMap((resourceSpans) => {
    const resource = Object.assign(
      {},
      ...messages(resourceSpans, 1).map((message) => attributesIn(message, 1)),
    );
    const spans = messages(resourceSpans, 2).flatMap((scopeSpans) => messages(scopeSpans, 2));
    return spans.map((span) => ({
      traceId: hexOf(span, 1),
      spanId: hexOf(span, 2),
      name: String(messages(span, 5)[0]),
      attributes: attributesIn(span, 9),
      resource,
      links: messages(span, 13).map((link) => ({ traceId: hexOf(link, 1), spanId: hexOf(link, 2) })),
      failed: messages(span, 15).some((status) => numbers(status, 3)[0] === 2n),
    }));
  });
}

function hexOf(message: Buffer, field: number): string {
  return messages(message, field)[0]?.toString('hex') ?? '';
}

function attributesIn(message: Buffer, field: number): Record<string, string | number> {
  const pairs = messages(message, field).map((pair): [string, string | number] => {
    const [value = Buffer.alloc(0)] = messages(pair, 2);
    const text = messages(value, 1)[0];
    return [String(messages(pair, 1)[0]), text ? String(text) : Number(numbers(value, 3)[0])];
  });
  return Object.fromEntries(pairs);
}

function messages(message: Buffer, field: number): Buffer[] {
  return fieldsOf(message).flatMap(([number, value]) =>
    number === field && typeof value === 'object' ? [value] : [],
  );
}

function numbers(message: Buffer, field: number): bigint[] {
  return fieldsOf(message).flatMap(([number, value]) =>
    number === field && typeof value === 'bigint' ? [value] : [],
  );
}

/** https://protobuf.dev/programming-guides/encoding/ */
function fieldsOf(message: Buffer): [number: number, value: Buffer | bigint][] {
  const fields: [number, Buffer | bigint][] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const bytes = (length: number): Buffer => {
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const kind = tag & 7;
    if (kind === 0) fields.push([tag >> 3, varint()]);
    else fields.push([tag >> 3, bytes(kind === 2 ? Number(varint()) : kind === 1 ? 8 : 4)]);
  }
  return fields;
}
