import type { Trouble } from '../timetable.ts';
import { asks, type Scene } from './scenes.ts';

/** Returns the pages that show a problem. */
export function pagesOf({ code, about }: Trouble): readonly Scene[] {
  const overview = { page: 'overview', address: '/' };
  switch (code) {
    case 'sink_held':
      return [
        overview,
        { page: 'sinks', address: '/sinks' },
        { page: `sink-${about}`, address: `/sinks/${about}` },
        { page: 'deliveries-pending', address: `/deliveries?sink=${about}&state=pending` },
      ];
    case 'deliveries_dead':
      return [
        overview,
        { page: 'sinks', address: '/sinks' },
        { page: `sink-${about}`, address: `/sinks/${about}` },
        { page: 'deliveries-dead', address: `/deliveries?sink=${about}&state=dead` },
      ];
    case 'leads_rejected':
      return [
        overview,
        { page: 'rejected', address: `/rejected?source=${about}&state=open` },
        { page: 'polls', address: `/polls?source=${about}` },
        {
          page: 'rejected-text',
          address: '/rejected',
          act: (page) => page.getByRole('button', { name: 'Show the text' }).first().click(),
        },
      ];
    case 'export_fails':
    case 'backup_fails':
      return [overview];
    case 'sink_paused':
      return [
        overview,
        { page: `sink-${about}`, address: `/sinks/${about}` },
        asks('resume', `/sinks/${about}`, 'Resume…'),
        asks('cancel-replay', `/sinks/${about}`, 'Cancel replay…'),
      ];
    case 'sink_disabled':
    case 'sink_removed':
      return [
        overview,
        { page: 'sinks', address: '/sinks' },
        { page: `sink-${about}`, address: `/sinks/${about}` },
      ];
    case 'config_stale':
      return [
        overview,
        { page: 'configuration', address: '/configuration' },
        asks('reload', '/configuration', 'Reload…'),
      ];
    case 'disk_low':
      return [overview, { page: 'alerts', address: '/alerts' }];
    default:
      return [
        overview,
        { page: 'polls', address: `/polls?source=${about}` },
        { page: 'leads', address: '/leads' },
        { page: 'log', address: '/log' },
        {
          page: 'poll-now',
          address: `/polls?source=${about}`,
          act: async (page) => {
            await page.getByRole('button', { name: 'Poll now' }).first().click();
            await page.getByRole('status').waitFor();
          },
        },
      ];
  }
}
