import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { protocolErrors, Reader, Writer } from '@platformatic/kafka';
import type { Certificate } from '../../support/servers/certificate.ts';
import { readBatch, type StubRecord } from './read-batch.ts';
import { type Login, type LoginSession, startLogin } from './stub-login.ts';

/** What a broker does with a request for records: store them and answer, or another thing. */
export type ProduceAnswer =
  | 'store'
  /** Stores the records and closes the connection without an answer. */
  | 'cut'
  /** Stores nothing and says nothing. */
  | 'silent'
  /** Stores the records, and answers without naming a partition. */
  | 'vague'
  /** Stores the records, and names every partition but the first. */
  | 'half'
  /** Stores the records, and answers with this error code for every partition. */
  | { readonly storedBut: string }
  /** Stores those of each partition for which it returns nothing, and answers with the error code that it returns for another one. */
  | ((topic: string, partition: number, records: readonly StubRecord[]) => string | undefined);

/** A topic of the stub. */
export interface StubTopic {
  partitions: number;
  /** The error code with which the stub answers a question about the topic. */
  code?: string;
  /** Numbers of partitions without a leader. */
  leaderless?: readonly number[];
  /** Maximum bytes of the records for one partition in one request. Default: 1,048,588. */
  maxBytes?: number;
}

/** One broker that understands the requests of a producer, and breaks off a connection whose client does not speak as Kafka's protocol says. */
export interface KafkaStub {
  readonly address: string;
  readonly topics: Map<string, StubTopic>;
  /** Every stored record, in order of arrival. */
  readonly stored: readonly StubRecord[];
  /** The names of the requests that it got, in order. */
  readonly requests: readonly string[];
  /** What clients did that the protocol forbids. */
  readonly faults: readonly string[];
  /** The number of connections that it accepted. */
  readonly connections: number;
  /** The rights that it reports, as bits (KIP-430); undefined: it reports none. */
  rights: number | undefined;
  /** The address by which it names itself to clients. Default: its own. */
  advertised: { host: string; port: number };
  /** The pause that it asks for after records, in ms. */
  throttleMs: number;
  /** The error code of every topic that a client asks it to create. */
  createCode: string;
  /** Answers the next requests for records in these ways, one after the other, and then by storing. */
  answerProduce(...answers: readonly ProduceAnswer[]): void;
  /** Answers requests for records from now on as `next` says for each of them; stores every record if absent. */
  answerAlways(next?: () => ProduceAnswer): void;
  /** Ends every connection and refuses new ones until `start`. What it has stored stays. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Reads nothing until `thaw`, and then everything that has been sent to it. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

const NODE = 1;
const UNREPORTED = -2_147_483_648;
/** The default of `socket.request.max.bytes`. */
const MAX_REQUEST = 104_857_600;
const DEFAULT_MAX_BYTES = 1_048_588;

/** The requests that it knows, by number, with the versions. */
const APIS = {
  0: ['Produce', 3, 8],
  1: ['Fetch', 4, 4], // named only: librdkafka writes records with headers to brokers that have it
  3: ['Metadata', 1, 8],
  17: ['SaslHandshake', 0, 1],
  18: ['ApiVersions', 0, 3],
  19: ['CreateTopics', 2, 4],
  36: ['SaslAuthenticate', 0, 1],
} as const;

/** Starts a stub on a free port of 127.0.0.1 with a topic `leads` of three partitions. */
export async function startKafkaStub(
  options: { readonly login?: Login; readonly certificate?: Certificate; readonly port?: number } = {},
): Promise<KafkaStub> {
  const sockets = new Set<Socket>();
  const state = new StubState(options.login);
  let isFrozen = false;
  const serve = (socket: Socket) => {
    sockets.add(socket);
    state.connections += 1;
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    serveConnection(socket, state);
    if (isFrozen) socket.pause();
  };
  const server = options.certificate ? createTlsServer(options.certificate, serve) : createServer(serve);
  server.on('tlsClientError', () => undefined);
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  state.advertised = { host: '127.0.0.1', port };
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return Object.assign(state, {
    address: `127.0.0.1:${port}`,
    stop,
    close: stop,
    start: async () => {
      if (!server.listening) await listen(port);
    },
    freeze: () => {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw: () => {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
  });
}

class StubState {
  readonly topics = new Map<string, StubTopic>([['leads', { partitions: 3 }]]);
  readonly stored: StubRecord[] = [];
  readonly requests: string[] = [];
  readonly faults: string[] = [];
  readonly login: Login | undefined;
  connections = 0;
  rights: number | undefined;
  advertised = { host: '127.0.0.1', port: 0 };
  createCode = 'NONE';
  throttleMs = 0;
  #answers: ProduceAnswer[] = [];
  #next: () => ProduceAnswer = () => 'store';

  constructor(login: Login | undefined) {
    this.login = login;
  }

  answerProduce(...answers: readonly ProduceAnswer[]): void {
    this.#answers = [...answers];
  }

  answerAlways(next: () => ProduceAnswer = () => 'store'): void {
    this.#next = next;
  }

  nextAnswer(): ProduceAnswer {
    return this.#answers.shift() ?? this.#next();
  }

  /** Returns the offset of the next record of a partition. */
  offset(topic: string, partition: number): number {
    return this.stored.filter((record) => record.topic === topic && record.partition === partition).length;
  }
}

function serveConnection(socket: Socket, state: StubState): void {
  const session = state.login && startLogin(state.login);
  let received = Buffer.alloc(0);
  socket.on('data', (data) => {
    received = Buffer.concat([received, data]);
    // As Kafka does, which takes the beginning of another protocol for the length of a request.
    if (received.length >= 4 && received.readUInt32BE(0) > MAX_REQUEST) socket.destroy();
    while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
      const end = 4 + received.readInt32BE(0);
      const request = received.subarray(4, end);
      received = received.subarray(end);
      try {
        serveRequest(socket, state, session, request);
      } catch (error) {
        state.faults.push(String(error));
        socket.destroy();
        return;
      }
    }
  });
}

function serveRequest(socket: Socket, state: StubState, session: LoginSession | undefined, request: Buffer) {
  const reader = Reader.from(request);
  const [key, version, correlation] = [reader.readInt16(), reader.readInt16(), reader.readInt32()];
  reader.readNullableString(false); // the client's id
  const [name, min, max] = APIS[key as keyof typeof APIS] ?? [];
  if (name === undefined) throw new Error(`request ${key} is not one of a producer`);
  const isKnown = version >= min && version <= max;
  if (!isKnown && name !== 'ApiVersions') throw new Error(`${name} has no version ${version} here`);
  state.requests.push(name);
  const needsLogin = session && !session.isDone && ['Produce', 'Metadata', 'CreateTopics'].includes(name);
  if (needsLogin) return void socket.destroy(); // as Kafka does
  const writer = Writer.create();
  const isAnswered = answer(name, { reader, writer, version, state, session, socket });
  if (isAnswered) socket.write(writer.appendInt32(correlation, false).prependLength().buffer);
}

interface Exchange {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly version: number;
  readonly state: StubState;
  readonly session: LoginSession | undefined;
  readonly socket: Socket;
}

/** Writes the answer. Returns false if there is none. */
function answer(name: (typeof APIS)[keyof typeof APIS][0], exchange: Exchange): boolean {
  switch (name) {
    case 'ApiVersions':
      return apiVersions(exchange);
    case 'Metadata':
      return metadata(exchange);
    case 'Produce':
      return produce(exchange);
    case 'CreateTopics':
      return createTopics(exchange);
    case 'Fetch':
      throw new Error('a consumer');
    default:
      if (!exchange.session) throw new Error('a login that was not requested');
      exchange.session.answer(name, exchange.reader, exchange.writer, exchange.version);
      return true;
  }
}

function apiVersions({ writer, version }: Exchange): boolean {
  const apis = Object.entries(APIS);
  writer.appendInt16(0);
  if (version >= 3) writer.appendUnsignedVarInt(apis.length + 1);
  else writer.appendInt32(apis.length);
  for (const [key, [, min, max]] of apis) {
    writer.appendInt16(Number(key)).appendInt16(min).appendInt16(max);
    if (version >= 3) writer.appendTaggedFields();
  }
  if (version >= 1) writer.appendInt32(0);
  if (version >= 3) writer.appendTaggedFields();
  return true;
}

function metadata({ reader, writer, version, state }: Exchange): boolean {
  const asked = reader.readNullableArray((r) => r.readString(false), false, false);
  const names = asked === null ? [...state.topics.keys()] : asked;
  if (version >= 4 && reader.readBoolean()) state.faults.push('the client lets a broker create topics');
  if (version >= 3) writer.appendInt32(0);
  const { host, port } = state.advertised;
  writer
    .appendInt32(1)
    .appendInt32(NODE)
    .appendString(host, false)
    .appendInt32(port)
    .appendString(null, false);
  if (version >= 2) writer.appendString('stub', false);
  writer.appendInt32(NODE).appendInt32(names.length);
  for (const name of names) {
    const topic = state.topics.get(name);
    const code = topic ? (topic.code ?? 'NONE') : 'UNKNOWN_TOPIC_OR_PARTITION';
    writer.appendInt16(codeOf(code)).appendString(name, false).appendBoolean(false);
    const count = code === 'NONE' ? (topic?.partitions ?? 0) : 0;
    writer.appendInt32(count);
    for (let partition = 0; partition < count; partition += 1) {
      const isLed = !topic?.leaderless?.includes(partition);
      writer.appendInt16(codeOf(isLed ? 'NONE' : 'LEADER_NOT_AVAILABLE')).appendInt32(partition);
      writer.appendInt32(isLed ? NODE : -1);
      if (version >= 7) writer.appendInt32(0);
      for (const nodes of [[NODE], isLed ? [NODE] : [], ...(version >= 5 ? [[]] : [])])
        writer.appendArray(nodes, (w, node) => void w.appendInt32(node), false, false);
    }
    if (version >= 8) writer.appendInt32(state.rights ?? UNREPORTED);
  }
  if (version >= 8) writer.appendInt32(UNREPORTED);
  return true;
}

function produce({ reader, writer, version, state, socket }: Exchange): boolean {
  if (reader.readNullableString(false) !== null) throw new Error('a transaction');
  if (reader.readInt16() !== -1) throw new Error('not acknowledged by all replicas');
  if (reader.readInt32() <= 0) throw new Error('no time for the replicas');
  const parts = reader.readArray(readTopic, false, false).flat();
  const how = state.nextAnswer();
  if (how === 'silent') return false;
  const answers = parts.map(({ topic, partition, batch }) => {
    const code =
      codeFor(state, topic, partition, batch.length) ??
      (typeof how === 'function' ? how(topic, partition, readBatch(topic, partition, batch)) : undefined);
    const offset = state.offset(topic, partition);
    const records = readBatch(topic, partition, batch);
    if (code === undefined) state.stored.push(...records);
    const told = code ?? (typeof how === 'object' ? how.storedBut : 'NONE');
    return { topic, partition, code: told, offset };
  });
  if (how === 'cut') {
    socket.destroy();
    return false;
  }
  const named = how === 'vague' ? [] : how === 'half' ? answers.slice(1) : answers;
  writer.appendInt32(named.length);
  for (const { topic, partition, code, offset } of named) {
    writer.appendString(topic, false).appendInt32(1).appendInt32(partition).appendInt16(codeOf(code));
    writer.appendInt64(BigInt(code === 'NONE' ? offset : -1)).appendInt64(-1n);
    if (version >= 5) writer.appendInt64(0n);
    if (version >= 8) writer.appendInt32(0).appendString(null, false);
  }
  writer.appendInt32(state.throttleMs);
  return true;
}

function readTopic(reader: Reader) {
  const topic = reader.readString(false);
  return reader.readArray(
    (r) => ({ topic, partition: r.readInt32(), batch: r.readBytes(false) }),
    false,
    false,
  );
}

function codeFor(state: StubState, name: string, partition: number, bytes: number): string | undefined {
  const topic = state.topics.get(name);
  if (!topic || partition >= topic.partitions) return 'UNKNOWN_TOPIC_OR_PARTITION';
  if (topic.leaderless?.includes(partition)) return 'NOT_LEADER_OR_FOLLOWER';
  return bytes > (topic.maxBytes ?? DEFAULT_MAX_BYTES) ? 'MESSAGE_TOO_LARGE' : undefined;
}

function createTopics({ reader, writer, state }: Exchange): boolean {
  const topics = reader.readArray(
    (r) => {
      const [name, partitions, replicas] = [r.readString(false), r.readInt32(), r.readInt16()];
      if (replicas !== -1) throw new Error('not the replicas of the broker');
      r.readArray(() => undefined, false, false);
      const configs = r.readArray((c) => [c.readString(false), c.readNullableString(false)], false, false);
      return { name, partitions, configs };
    },
    false,
    false,
  );
  reader.readInt32();
  const validateOnly = reader.readBoolean();
  writer.appendInt32(0).appendInt32(topics.length);
  for (const { name, partitions } of topics) {
    const code = state.topics.has(name) ? 'TOPIC_ALREADY_EXISTS' : state.createCode;
    if (code === 'NONE' && !validateOnly)
      state.topics.set(name, { partitions: partitions === -1 ? 1 : partitions });
    writer.appendString(name, false).appendInt16(codeOf(code)).appendString(null, false);
  }
  return true;
}

function codeOf(id: string): number {
  return id === 'NONE' ? 0 : (protocolErrors[id]?.code ?? -1);
}
