import { type ConfigurationFile, TRIAL } from './configuration-file.ts';
import type { Destinations } from './destinations.ts';
import type { Operator } from './operator.ts';
import type { Services } from './services.ts';

/** What the events of the timetable change. */
export interface World {
  readonly services: Services;
  readonly destinations: Destinations;
  readonly operator: Operator;
  readonly configuration: ConfigurationFile;
  /** A person logs in at the service `south` again, with `leadsync login`. */
  logIn(): Promise<void>;
  /** The folder of the export cannot be written to, or can again. */
  blockExports(isBlocked: boolean): void;
  /** Likewise for the folder of the backup. */
  blockBackups(isBlocked: boolean): void;
  /** A person skips what the removed sink `trial` is still owed, with `leadsync forget`. */
  forgetTrial(): Promise<void>;
}

/** The problem that an event causes, by its code and what it is about, as `leadsync status` reports it. */
export interface Trouble {
  readonly code: string;
  /** Null if the problem is about leadsync itself. */
  readonly about: string | null;
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
    minute: 3,
    what: 'an operator pauses slow, and replays the last 20 leads to it',
    happen: async ({ operator }) => {
      await operator.pause('slow', 'its server moves');
      await operator.replayLast('slow', 20);
    },
    trouble: { code: 'sink_paused', about: 'slow' },
  },
  {
    minute: 4,
    what: 'the operator cancels that replay, and resumes slow',
    happen: async ({ operator }) => {
      await operator.cancelReplay('slow');
      await operator.resume('slow');
    },
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
    minute: 14,
    what: 'an operator makes a mistake in the configuration file',
    happen: ({ configuration }) => configuration.spoil(),
    trouble: { code: 'config_stale', about: null },
  },
  {
    minute: 16,
    what: 'the operator corrects the configuration file',
    happen: ({ configuration }) => configuration.restore(),
  },
  {
    minute: 17,
    what: 'outage accepts leads again',
    happen: ({ destinations }) => destinations.setOutage(false),
  },
  {
    minute: 18,
    what: 'north answers with 500',
    happen: ({ services }) => services.fail(true),
    trouble: { code: 'poll_failed', about: 'north' },
  },
  {
    minute: 19,
    what: 'north answers with its listing again',
    happen: ({ services }) => services.fail(false),
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
    minute: 25,
    what: 'an operator adds the sink trial, at whose address nothing listens, for all leads',
    happen: ({ configuration }) => configuration.addTrial({ enabled: true }),
    trouble: { code: 'sink_held', about: TRIAL },
  },
  {
    minute: 26,
    what: 'the operator disables trial',
    happen: ({ configuration }) => configuration.addTrial({ enabled: false }),
    trouble: { code: 'sink_disabled', about: TRIAL },
  },
  {
    minute: 27,
    what: 'the operator removes trial from the configuration',
    happen: ({ configuration }) => configuration.restore(),
    trouble: { code: 'sink_removed', about: TRIAL },
  },
  {
    minute: 28,
    what: 'the operator gives up what trial was owed: leadsync forget trial',
    happen: (world) => world.forgetTrial(),
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
    minute: 38,
    what: 'the folders of the export and the backup cannot be written to',
    happen: (world) => {
      world.blockExports(true);
      world.blockBackups(true);
    },
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
    what: 'by now, the export has been due',
    happen: () => undefined,
    trouble: { code: 'export_fails', about: 'report' },
  },
  {
    minute: 43,
    what: 'by now, the backup has been due',
    happen: () => undefined,
    trouble: { code: 'backup_fails', about: 'safe' },
  },
  {
    minute: 44,
    what: 'the disk has less free space than the configuration file now requires',
    happen: ({ configuration }) => configuration.requireSpace(),
    trouble: { code: 'disk_low', about: null },
  },
  {
    minute: 46,
    what: 'the configuration file requires less free space again',
    happen: ({ configuration }) => configuration.restore(),
  },
  {
    minute: 48,
    what: 'PostgreSQL starts',
    happen: ({ destinations }) => destinations.startPostgres(),
  },
  {
    minute: 50,
    what: 'the folders of the export and the backup can be written to again',
    happen: (world) => {
      world.blockExports(false);
      world.blockBackups(false);
    },
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
