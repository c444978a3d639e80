import type { Registry } from 'prom-client';
import type { Emit } from './events.ts';
import { createLogger, type Logger, type LoggerOptions } from './logger.ts';
import { createMetrics, type Metrics, type MetricsOptions } from './metrics.ts';

/** What log and metrics are made with. An event goes to the log, then to the metrics, then to each subscriber. */
export interface TelemetryOptions extends MetricsOptions {
  readonly log: LoggerOptions;
  /** Others who want every event: progress on a terminal, a test. */
  readonly subscribers?: readonly Emit[];
}

/** Where events go, and what comes of them. */
export interface Telemetry {
  /** Hands an event to the log, the metrics and every subscriber. Never throws and never waits. */
  readonly emit: Emit;
  readonly logger: Logger;
  readonly registry: Registry;
  /** From now on the metrics are those of these names. */
  readonly rename: Metrics['rename'];
}

/** Wires everything that listens to the events. */
export function createTelemetry(options: TelemetryOptions): Telemetry {
  const logger = createLogger(options.log);
  const { registry, observe, rename } = createMetrics(options);
  const emit = fanOut([logger.event, observe, ...(options.subscribers ?? [])], (error) =>
    logger.fault('reporting an event', error),
  );
  return { emit, logger, registry, rename };
}

/** Gives an event to each subscriber. One that throws keeps it neither from the others nor troubles the emitter. */
function fanOut(subscribers: readonly Emit[], onFailure: (error: unknown) => void): Emit {
  const attempt = (work: () => void, otherwise: (error: unknown) => void) => {
    try {
      work();
    } catch (error) {
      otherwise(error);
    }
  };
  return (event) => {
    for (const subscriber of subscribers) {
      attempt(
        () => subscriber(event),
        (error) =>
          attempt(
            () => onFailure(error),
            () => {}, // the log itself does not work: deliveries matter more than telling of it
          ),
      );
    }
  };
}
