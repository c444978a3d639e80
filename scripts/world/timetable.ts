import type { Destinations } from './destinations.ts';
import type { Services } from './services.ts';

/** What the events of the timetable change. */
export interface World {
  readonly services: Services;
  readonly destinations: Destinations;
  /** A person logs in at the service `south` again, with `leadsync login`. */
  logIn(): Promise<void>;
  /** The folder of the export cannot be written to, or can again. */
  blockExports(isBlocked: boolean): void;
}

/** The problem that an event causes, by its code and what it is about, as `leadsync status` reports it. */
export interface Trouble {
  readonly code: string;
  readonly about: string;
}

/** Something that happens to the world. */
export interface WorldEvent {
  /** Minute of the timetable. */
  readonly minute: number;
  /** What happens, in one line. */
  readonly what: string;
  readonly happen: (world: World) => void | Promise<void>;
  /** The problem that leadsync should report soon afterwards; absent if something recovers. */
  readonly trouble?: Trouble;
}

/** Everything that happens in the hour. Beside this, `flaky` fails all the time, and `slow` is slow. */
export const TIMETABLE: readonly WorldEvent[] = [
  {
    minute: 1,
    what: 'picky begins to refuse 1 lead in 25 with 422, and never stops',
    happen: ({ destinations }) => destinations.refuseSome(),
    trouble: { code: 'deliveries_dead', about: 'picky' },
  },
  {
    minute: 2,
    what: 'outage closes every connection',
    happen: ({ destinations }) => destinations.setOutage(true),
    trouble: { code: 'sink_held', about: 'outage' },
  },
  {
    minute: 5,
    what: 'hubspot revokes the token',
    happen: ({ destinations }) => destinations.setHubSpotRefuses(true),
    trouble: { code: 'sink_held', about: 'hubspot' },
  },
  {
    minute: 10,
    what: 'hubspot accepts the token again',
    happen: ({ destinations }) => destinations.setHubSpotRefuses(false),
  },
  {
    minute: 12,
    what: 'north lists 12 leads that do not match the API description',
    happen: ({ services }) => services.break(true),
    trouble: { code: 'leads_rejected', about: 'north' },
  },
  {
    minute: 17,
    what: 'outage accepts leads again',
    happen: ({ destinations }) => destinations.setOutage(false),
  },
  {
    minute: 20,
    what: 'north lists valid leads only',
    happen: ({ services }) => services.break(false),
  },
  {
    minute: 23,
    what: 'north lists only a quarter of its leads',
    happen: ({ services }) => services.shrink(true),
    trouble: { code: 'listing_shrunk', about: 'north' },
  },
  {
    minute: 29,
    what: 'north lists all of its leads again',
    happen: ({ services }) => services.shrink(false),
  },
  {
    minute: 31,
    what: 'south revokes the login',
    happen: ({ services }) => services.revokeLogin(),
    trouble: { code: 'poll_failed', about: 'south' },
  },
  {
    minute: 37,
    what: 'a person logs in at south again: leadsync login south',
    happen: (world) => world.logIn(),
  },
  {
    minute: 39,
    what: 'PostgreSQL stops',
    happen: ({ destinations }) => destinations.stopPostgres(),
    trouble: { code: 'sink_held', about: 'warehouse' },
  },
  {
    minute: 41,
    what: 'outage closes every connection, a second time',
    happen: ({ destinations }) => destinations.setOutage(true),
    trouble: { code: 'sink_held', about: 'outage' },
  },
  {
    minute: 42,
    what: 'the folder of the export cannot be written to',
    happen: (world) => world.blockExports(true),
    trouble: { code: 'export_fails', about: 'report' },
  },
  {
    minute: 48,
    what: 'PostgreSQL starts',
    happen: ({ destinations }) => destinations.startPostgres(),
  },
  {
    minute: 50,
    what: 'the folder of the export can be written to again',
    happen: (world) => world.blockExports(false),
  },
  {
    minute: 55,
    what: 'outage accepts leads again',
    happen: ({ destinations }) => destinations.setOutage(false),
  },
];

/** Returns the timetable as lines, with the time of each event in the run. */
export function timetableLines(speed: number): string {
  return TIMETABLE.map(({ minute, what }) => `  ${clockTime(minute / speed).padStart(6)}  ${what}\n`).join(
    '',
  );
}

/** Returns a number of minutes as `12:30`, minutes and seconds. */
export function clockTime(minutes: number): string {
  const seconds = Math.round(minutes * 60);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
