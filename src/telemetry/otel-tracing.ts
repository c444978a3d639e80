import { hash } from 'node:crypto';
import {
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { codeOf } from '../platform/failures/error-code.ts';
import { networkFailure } from '../platform/failures/network-failure.ts';
import { version } from '../platform/process/version.ts';
import type { Emit, EventOf } from './events.ts';
import { samplerOf } from './otel-sampler.ts';
import type { Span, TracedBatch, Tracing, TracingParts } from './tracing.ts';

/** Maximum time that closing waits for unsent spans, in ms. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Maximum number of polls that the span of an attempt is linked to. */
const MAX_LINKS = 16;

/** Traces with OpenTelemetry's SDK. Sends spans by OTLP over HTTP in the background, and drops those that it cannot send. */
export class OtelTracing implements Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #ids = new Ids();
  readonly #ledgerId: string;
  /** Span of the running poll, by source. */
  readonly #polls = new Map<string, Span>();

  constructor({ env, ledgerId, emit }: TracingParts) {
    this.#ledgerId = ledgerId;
    const own = resourceFromAttributes({ 'service.name': 'leadsync', 'service.version': version });
    const detectors = [resourceAttributesEnvDetector, serviceNameEnvDetector];
    this.#provider = new TracerProvider({
      resource: defaultResource().merge(own).merge(detectResources({ detectors })),
      sampler: samplerOf(env),
      idGenerator: this.#ids,
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: reportFailures(new OTLPTraceExporter(), emit),
          ...batchOptions(env),
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('leadsync', version);
  }

  readonly observe: Emit = (event) => {
    if (event.type === 'poll-started') this.#startPoll(event);
    if (event.type === 'poll-finished') this.#endPoll(event.source, event.status, event);
    if (event.type === 'poll-failed')
      this.#endPoll(event.source, event.status, event.recorded ?? {}, event.code);
  };

  #startPoll({ source, poll }: EventOf<'poll-started'>): void {
    const attributes = { 'leadsync.source': source, 'leadsync.poll.id': poll };
    const span = this.#ids.using(this.#idsOf(poll), () => this.#start(`poll ${source}`, attributes, []));
    this.#polls.set(source, span);
  }

  #endPoll(source: string, status: string, counts: Partial<Counts>, error?: string): void {
    const attributes = {
      'leadsync.poll.status': status,
      'leadsync.leads.listed': counts.listed,
      'leadsync.leads.new': counts.new,
      'leadsync.leads.changed': counts.changed,
      'leadsync.leads.rejected': counts.rejected,
    };
    this.#polls.get(source)?.end(attributes, error);
    this.#polls.delete(source);
  }

  attempt({ sink, id, deliveries }: TracedBatch): Span {
    const polls = new Set(deliveries.map(({ poll }) => poll).filter((poll) => poll !== undefined));
    const attributes = {
      // https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
      'messaging.system': 'leadsync',
      'messaging.operation.name': 'deliver',
      'messaging.operation.type': 'send',
      'messaging.destination.name': sink,
      'messaging.batch.message_count': deliveries.length,
      'leadsync.batch.id': id,
    };
    const links = [...polls].slice(0, MAX_LINKS).map((poll): Link => {
      const context = { ...this.#idsOf(poll), traceFlags: TraceFlags.SAMPLED, isRemote: true };
      return { context, attributes: { 'leadsync.poll.id': poll } };
    });
    return this.#start(`deliver ${sink}`, attributes, links);
  }

  async close(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
    // A collector that does not accept the last spans must not delay the stop.
    await Promise.race([this.#provider.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
  }

  #start(name: string, attributes: Readonly<Record<string, string | number>>, links: Link[]): Span {
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes, links }, ROOT_CONTEXT);
    const { traceId, spanId, traceFlags } = span.spanContext();
    return {
      traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
      end: (more, error) => {
        span.setAttributes({ ...more, ...(error === undefined ? {} : { 'error.type': error }) });
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  /**
   * Derives the trace id and the span id of a poll from the ledger's id and the poll's number, so that another process can link to the poll without
   * exchanging ids.
   */
  #idsOf(poll: number): SpanIds {
    const digest = hash('sha256', `${this.#ledgerId} poll ${poll}`);
    return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
  }
}

type Counts = Readonly<Record<'listed' | 'new' | 'changed' | 'rejected', number>>;

interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** Generates random ids, or uses preset ones for a single span. */
class Ids implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #preset: SpanIds | undefined;

  using<T>(ids: SpanIds, start: () => T): T {
    this.#preset = ids;
    try {
      return start();
    } finally {
      this.#preset = undefined;
    }
  }

  readonly generateTraceId = () => this.#preset?.traceId ?? this.#random.generateTraceId();
  readonly generateSpanId = () => this.#preset?.spanId ?? this.#random.generateSpanId();
}

/** Wraps an exporter so that it reports only the first of several consecutive failures. */
function reportFailures(exporter: SpanExporter, emit: Emit): SpanExporter {
  let failing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const failed = result.error !== undefined || result.code !== 0;
        if (failed && !failing) emit({ type: 'traces-unsent', reason: reasonOf(result.error) });
        failing = failed;
        done(result);
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

/** Describes an error without the receiver's own text, which can contain anything. */
function reasonOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'number') return `The trace receiver answered ${code}.`;
  if (codeOf(error) === undefined) return 'The trace receiver did not answer.';
  return `The trace receiver ${networkFailure(error).what}.`;
}

/**
 * Returns the options of the batch span processor that the environment sets; ignores values that are not positive integers
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#batch-span-processor).
 */
function batchOptions(env: TracingParts['env']) {
  const read = (name: string) => {
    const value = Number(env[`OTEL_BSP_${name}`] || Number.NaN);
    return Number.isInteger(value) && value > 0 ? value : undefined;
  };
  const options = {
    scheduledDelayMillis: read('SCHEDULE_DELAY'),
    exportTimeoutMillis: read('EXPORT_TIMEOUT'),
    maxQueueSize: read('MAX_QUEUE_SIZE'),
    maxExportBatchSize: read('MAX_EXPORT_BATCH_SIZE'),
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
