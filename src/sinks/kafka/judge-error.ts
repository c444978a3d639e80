import {
  AuthenticationError,
  GenericError,
  MultipleErrors,
  NetworkError,
  protocolErrorsCodesById,
  TimeoutError,
  UserError,
} from '@platformatic/kafka';
import type { Refused } from '../../leads/outcome.ts';
import { networkFailure } from '../../platform/failures/network-failure.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

/** The topic, and maybe partition, that an answer is about. */
export interface Place {
  readonly topic: string;
  readonly partition?: number | undefined;
}

/** The facts about the connection that hints mention: whether it uses TLS, and the user name. */
export interface LoginFacts {
  readonly tls: boolean;
  /** The name to log in with; undefined without a login. */
  readonly username: string | undefined;
}

/** Error codes that mean that a record is at fault (https://kafka.apache.org/protocol#protocol_error_codes). */
const REFUSED: Readonly<Record<string, string>> = {
  MESSAGE_TOO_LARGE: "Raise the topic's `max.message.bytes`, then run `leadsync retry`.",
  RECORD_LIST_TOO_LARGE: "Raise the topic's `segment.bytes`, then run `leadsync retry`.",
  INVALID_RECORD: "The broker's log says which rule the record breaks, for example a schema.",
};

/** Codes after which the brokers may have the records: a leader writes them before it waits for the other replicas. */
const MAY_HAVE_ARRIVED = new Set([
  'UNKNOWN_SERVER_ERROR',
  'REQUEST_TIMED_OUT',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'NOT_LEADER_OR_FOLLOWER',
  'KAFKA_STORAGE_ERROR',
  'NETWORK_EXCEPTION',
]);

/** Codes after which leadsync must ask again which broker leads which partition. */
const STALE = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'UNKNOWN_TOPIC_ID',
  'NOT_LEADER_OR_FOLLOWER',
  'LEADER_NOT_AVAILABLE',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'KAFKA_STORAGE_ERROR',
]);

type Hint = (place: Place, login: LoginFacts) => string;

const TEMPORARY: Hint = () => 'This is usually transient: a broker is restarting, or leadership is moving.';
const REPLICAS: Hint = ({ topic }) =>
  `Check that the brokers are running, and check the topic's \`min.insync.replicas\`: kafka-topics.sh --describe --topic ${topic}`;
const WRITE: Hint = ({ topic }, { username }) =>
  `Allow it: kafka-acls.sh --add --allow-principal User:${username ?? 'ANONYMOUS'} --operation Write --operation Describe --topic ${topic}`;

const HINTS: Readonly<Record<string, Hint>> = {
  UNKNOWN_TOPIC_OR_PARTITION: ({ topic }) =>
    `Create it (kafka-topics.sh --create --topic ${topic}), or set \`create: true\`. A topic that leadsync is not allowed to describe looks missing too.`,
  TOPIC_AUTHORIZATION_FAILED: WRITE,
  CLUSTER_AUTHORIZATION_FAILED: (place, login) =>
    `${WRITE(place, login)} To create topics, the user needs the operation Create too.`,
  INVALID_TOPIC_EXCEPTION: () => 'Correct `topic`.',
  NOT_LEADER_OR_FOLLOWER: TEMPORARY,
  LEADER_NOT_AVAILABLE: TEMPORARY,
  FENCED_LEADER_EPOCH: TEMPORARY,
  UNKNOWN_LEADER_EPOCH: TEMPORARY,
  REQUEST_TIMED_OUT: REPLICAS,
  NOT_ENOUGH_REPLICAS: REPLICAS,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: REPLICAS,
  KAFKA_STORAGE_ERROR: () => "The broker's disk has failed or is full: see the broker's log.",
  INVALID_TIMESTAMP: () =>
    'The time of this machine differs too much from that of the broker: correct the clock, or `message.timestamp.after.max.ms` of the topic.',
  UNSUPPORTED_COMPRESSION_TYPE: () => 'Choose another `compression`.',
  THROTTLING_QUOTA_EXCEEDED: () => 'Raise the quota of the user, or set `rate`.',
  INVALID_REPLICATION_FACTOR: () =>
    'The cluster has fewer brokers than `default.replication.factor`: start them, or create the topic yourself.',
  POLICY_VIOLATION: () => 'The brokers have a rule for new topics: create the topic yourself.',
};

/** Returns the name of an error code of Kafka's protocol; `NONE` for 0. */
export function codeText(code: number): string {
  return code === 0 ? 'NONE' : (protocolErrorsCodesById[code] ?? `error ${code}`);
}

/** Returns the outcome of records for an error code in an answer, or the failure for the caller to throw. `bytes` is the size of a single record. */
export function judgeCode(
  origin: string,
  code: string,
  place: Place,
  login: LoginFacts,
  bytes?: number,
): Refused | SinkUnavailable {
  const at = place.partition === undefined ? '' : `, partition ${place.partition}`;
  const hint = Object.hasOwn(REFUSED, code) ? REFUSED[code] : undefined;
  if (hint !== undefined) {
    const size = bytes === undefined ? '' : ` of ${bytes} bytes`;
    return {
      kind: 'refused',
      reason: `${origin} refused the record${size} for topic ${place.topic} (${code}). ${hint}`,
    };
  }
  return new SinkUnavailable(`${origin} answered ${code} for topic ${place.topic}${at}.`, {
    hint: (HINTS[code] ?? (() => 'See the log of the broker.'))(place, login),
    mayHaveArrived: MAY_HAVE_ARRIVED.has(code),
    answer: code,
  });
}

/** Whether the error code means that another broker now leads the partition, or that the topic has changed. */
export function isStale(code: string): boolean {
  return STALE.has(code);
}

/**
 * Converts an error from the Kafka client or the network to the failure of a call to a broker. Returns any other error unchanged, for the
 * caller to describe.
 */
export function callFailure(origin: string, error: unknown, login: LoginFacts): unknown {
  if (error instanceof SinkUnavailable) return error;
  const words = wordsFor(allErrors(error), login);
  return words ? new SinkUnavailable(`${origin} ${words[0]}.`, { hint: words[1], cause: error }) : error;
}

type Words = readonly [what: string, hint: string];

function wordsFor(errors: readonly Error[], login: LoginFacts): Words | undefined {
  const code = errors.map((one) => (one instanceof GenericError ? one['apiId'] : undefined)).find(isText);
  if (code?.includes('SASL') || errors.some((one) => one instanceof AuthenticationError))
    return loginFailure(errors, code);
  if (code !== undefined) return [`answered ${code}`, 'See the log of the broker.'];
  if (errors.some((one) => one instanceof TimeoutError)) return tooLate(login);
  if (errors.some((one) => one instanceof UserError)) return login.tls ? NO_TLS : NEEDS_TLS;
  const ofNetwork = errors.find((one) => !isOfClient(one) && isText(Reflect.get(one, 'code')));
  if (ofNetwork) {
    const { what, hint } = networkFailure(ofNetwork);
    return [what, hint];
  }
  if (errors.some((one) => one instanceof NetworkError)) return ['closed the connection', closed(login)];
  // The client cannot read an answer, or an error code in it.
  const isUnread = (one: Error) => isOfClient(one) || one instanceof TypeError || one instanceof RangeError;
  return errors.some(isUnread) ? NO_KAFKA : undefined;
}

/** Whether the error comes from the client or from its buffers, and not from the system. */
function isOfClient(error: Error): boolean {
  const isOfBuffer = Reflect.get(error, 'code') === 'OUT_OF_BOUNDS';
  return error instanceof GenericError || error instanceof MultipleErrors || isOfBuffer;
}

/** A server without TLS may wait for the rest of a handshake that it mistakes for a request. */
function tooLate({ tls }: LoginFacts): Words {
  const port = tls ? ' and whether the port uses TLS' : '';
  return ['did not answer in time', `Check whether the broker hangs${port}, or raise \`timeout\`.`];
}
const NO_TLS: Words = ['closed the connection during the TLS handshake', 'Check that the port uses TLS.'];
const NEEDS_TLS: Words = ['requires TLS', 'Set `tls: true`.'];
const NO_KAFKA: Words = ['does not answer as Kafka does', 'Check the host and port in `brokers`.'];

/**
 * Returns the hint for a closed connection. A broker closes it without an error if it expects TLS or a login, or if it gets a request that it
 * does not accept.
 */
function closed({ tls, username }: LoginFacts): string {
  const missing = [tls ? '' : '`tls: true`', username ? '' : '`username` and `password`'].filter(Boolean);
  const login = missing.length === 0 ? '' : ` The port may need ${missing.join(', or ')}.`;
  return `See the log of the broker.${login}`;
}

function loginFailure(errors: readonly Error[], code: string | undefined): Words {
  if (code === 'UNSUPPORTED_SASL_MECHANISM') {
    const offered = errors.map(mechanismsOf).find((names) => names.length > 0) ?? [];
    const has = offered.length === 0 ? '' : `: it offers ${offered.join(', ')}`;
    return [`does not offer the SASL mechanism in \`sasl\`${has}`, 'Correct `sasl`.'];
  }
  if (code === 'ILLEGAL_SASL_STATE')
    return ['expects no login', 'Remove `username` and `password`, or use the port that requires a login.'];
  if (code === undefined)
    return ['did not complete the login', 'Check `brokers` and `sasl`, and see the log of the broker.'];
  return ['does not accept the login', 'Correct `username`, `password` and `sasl`.'];
}

/** Returns the SASL mechanisms that a broker offers. Omits values that are not valid mechanism names (RFC 4422, section 3.1). */
function mechanismsOf(error: Error): readonly string[] {
  const response: unknown = error instanceof MultipleErrors ? error['response'] : undefined;
  const names = (response as { readonly mechanisms?: unknown } | undefined)?.mechanisms;
  return Array.isArray(names) ? names.filter((name) => isText(name) && /^[A-Z\d_-]{1,20}$/.test(name)) : [];
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Returns an error and everything that caused it, outermost first. */
function allErrors(error: unknown): readonly Error[] {
  if (!(error instanceof Error)) return [];
  const causes = [error.cause, ...(error instanceof AggregateError ? error.errors : [])];
  return [error, ...causes.flatMap(allErrors)];
}
