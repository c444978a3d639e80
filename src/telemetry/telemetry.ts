import type { Registry } from 'prom-client';
import type { Emit } from './events.ts';
import { createLogger, type Logger, type LoggerOptions } from './logger.ts';
import { createMetrics, type Metrics, type MetricsOptions } from './metrics.ts';

/** Options for telemetry. An event goes to the log, then to the metrics, then to each subscriber. */
export interface TelemetryOptions extends MetricsOptions {
  readonly log: LoggerOptions;
  /** Further receivers of every event, such as the progress display. */
  readonly subscribers?: readonly Emit[];
}

/** Passes events on to the log and the metrics, and gives access to both. */
export interface Telemetry {
  /** Passes an event to the log, the metrics and every subscriber. Never throws and never waits. */
  readonly emit: Emit;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Replaces the names that have metrics. */
  readonly rename: Metrics['rename'];
}

/** Creates the log and the metrics, and connects them to the events. */
export function createTelemetry(options: TelemetryOptions): Telemetry {
  const logger = createLogger(options.log);
  const { registry, observe, rename } = createMetrics(options);
  const emit = fanOut([logger.event, observe, ...(options.subscribers ?? [])], (error) =>
    logger.fault('reporting an event', error),
  );
  return { emit, logger, registry, rename };
}

/** Passes an event to each subscriber. An error in one affects neither the others nor the caller. */
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
            () => {}, // the log itself fails: deliveries matter more than reporting that
          ),
      );
    }
  };
}
