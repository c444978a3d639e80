import type { Clock } from '../platform/time/clock.ts';
import type { Emit } from '../telemetry/events.ts';
import { DestinationError } from './destination.ts';
import type { HeartbeatOptions } from './options.ts';
import { reach, reachServer, requireSuccess } from './post-json.ts';

/**
 * Sends heartbeats: requests the URL of a service that notifies people if the requests stop, such as healthchecks.io or Uptime Kuma. Reports the
 * first failure, and no further one until a heartbeat arrives again.
 */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #emit: Emit;
  /** Time at which the next heartbeat is due, on the monotonic clock, in ms. */
  #dueMs = 0;
  #url = '';
  #failing = false;

  constructor(clock: Clock, emit: Emit) {
    this.#clock = clock;
    this.#emit = emit;
  }

  /** Whether a heartbeat is due. The first heartbeat, and the first one to a new URL, is due immediately. */
  isDue({ url }: HeartbeatOptions): boolean {
    return url.reveal() !== this.#url || this.#clock.monotonicMs() >= this.#dueMs;
  }

  /** Sends one heartbeat. Reports by an event, and does not reject, if the request fails. */
  async send({ url, every }: HeartbeatOptions, signal: AbortSignal): Promise<void> {
    this.#url = url.reveal();
    this.#dueMs = this.#clock.monotonicMs() + every;
    try {
      await requestUrl(new URL(this.#url), signal);
      if (this.#failing) this.#emit({ type: 'heartbeat-recovered' });
      this.#failing = false;
    } catch (error) {
      if (!(error instanceof DestinationError)) throw error;
      if (signal.aborted || this.#failing) return;
      this.#failing = true;
      this.#emit({ type: 'heartbeat-failed', reason: error.message, hint: error.hint });
    }
  }
}

/** Checks that the heartbeat server answers. Sends no heartbeat. @throws DestinationError */
export function checkHeartbeat({ url }: HeartbeatOptions, signal: AbortSignal): Promise<void> {
  return reachServer(new URL(url.reveal()), signal);
}

/** Requests a URL. Any 2xx status is success. Errors show only the origin of the URL, because its path is a secret. @throws DestinationError */
async function requestUrl(url: URL, stop: AbortSignal): Promise<void> {
  const status = await reach(url, stop, 'GET');
  requireSuccess(url, status, 'alerts.heartbeat');
}
