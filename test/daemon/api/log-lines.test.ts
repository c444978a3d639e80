import { expect, test } from 'vitest';
import { actor } from '../../../src/admin/contract/actor.ts';
import { logLines } from '../../../src/daemon/api/log-lines.ts';
import { ROLES } from '../../../src/platform/options/role.ts';

const at = new Date('2026-11-20T10:00:00Z');
const recent = [
  { at, level: 'error', event: 'reload-failed', message: 'leadsync.yaml:5:37: NO_SUCH is not set.' },
  { at, level: 'warn', event: 'config-warning', message: 'leadsync.yaml:7:1: check this.' },
  { at, level: 'info', event: 'started', message: 'leadsync runs.' },
] as const;

test('only an admin reads in the log which places of the configuration, files and variables are wrong', () => {
  for (const role of ROLES) {
    const as = { who: role, via: 'token', role, address: '127.0.0.1' } as const;
    const lines = actor.run(as, () => logLines(recent, {}));
    expect(lines.map(({ event }) => event)).toEqual(recent.map(({ event }) => event));
    expect(lines[2]).toMatchObject({
      at: at.toISOString(),
      message: 'leadsync runs.',
      source: null,
      sink: null,
    });
    expect(JSON.stringify(lines).includes('leadsync.yaml'), role).toBe(role === 'admin');
    const found = actor.run(as, () => logLines(recent, { text: 'no_such' }));
    expect(found, role).toHaveLength(role === 'admin' ? 1 : 0);
  }
});
