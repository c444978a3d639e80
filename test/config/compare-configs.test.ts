import { describe, expect, test } from 'vitest';
import { compareConfigs, withoutRestart } from '../../src/config/changes/compare-configs.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import { read, SOURCE } from './reading.ts';

const LOFT = `${SOURCE}sinks:
  loft:
    type: pigeon
    loft: ./north
    password: \${PASSWORD}
`;

const before = read(LOFT, { PASSWORD: 'coo' });

function changesOf(text: string, password = 'coo') {
  return compareConfigs(before, read(text, { PASSWORD: password }));
}

describe('comparing configurations', () => {
  test('finds no change in a default that is written out, in an order, or in a comment', () => {
    const reordered = `${SOURCE.replace('    client_id: id\n', '')}    client_id: id\n`;
    const same = `# new\n${reordered}${LOFT.slice(SOURCE.length)}    concurrency: 2\nlog: { level: info }\n`;
    const nothing = { added: [], removed: [], altered: [] };
    expect(changesOf(same)).toEqual({
      sources: nothing,
      sinks: nothing,
      exports: nothing,
      live: [],
      restart: [],
    });
  });

  test('names the options of a sink that differ', () => {
    const text = `${LOFT.replace('./north', './south')}    batch: { max: 4 }\n    timeout: 3s\n    retry: { jitter: 0 }\n    altitude: 9\n`;
    const { sinks } = changesOf(text);
    expect(sinks.added).toEqual([]);
    expect(sinks.altered.map(({ name }) => name)).toEqual(['loft']);
    expect(sinks.altered[0]?.options.toSorted()).toEqual(['altitude', 'batch', 'loft', 'retry', 'timeout']);
  });

  test('sees a secret that was rotated, without showing it', () => {
    const changes = changesOf(LOFT, 'coo2');
    expect(changes.sinks.altered).toEqual([{ name: 'loft', options: ['password'] }]);
    expect(JSON.stringify(changes)).not.toContain('coo');
  });

  test('counts a sink that is disabled as removed, and one under another name as another', () => {
    expect(changesOf(`${LOFT}    enabled: false\n`).sinks.removed).toEqual(['loft']);
    const renamed = changesOf(LOFT.replace('  loft:', '  tower:')).sinks;
    expect([renamed.added, renamed.removed]).toEqual([['tower'], ['loft']]);
  });

  test('finds what became of sources', () => {
    const added = LOFT.replace(
      'sinks:',
      '  other:\n    base_url: https://b.example.com\n    client_id: id\n    client_secret: x\nsinks:',
    );
    expect(changesOf(added).sources).toEqual({ added: ['other'], removed: [], altered: [] });
    const slower = LOFT.replace('    client_id: id\n', '    client_id: id\n    poll: { every: 90s }\n');
    expect(changesOf(slower).sources.altered).toEqual([{ name: 'main', options: ['poll'] }]);
  });

  test('separates the options that a reload applies from those that need a restart, and does not change the latter', () => {
    const text = `${LOFT}log: { level: debug, format: json }\nstop: { grace: 1s }\ndata_dir: ./elsewhere\nadmin: { listen: off, token: a-token-of-some-length, hosts: [leads.example.com] }\nqueue: { redis_url: redis://r, prefix: b }\ntokens: { encryption_key: a-long-enough-passphrase }\n`;
    const next = read(text, { PASSWORD: 'coo' });
    const changes = compareConfigs(before, next);
    expect(changes.live).toEqual(['log.level', 'admin.token', 'admin.hosts', 'stop.grace']);
    expect(changes.restart).toEqual([
      'data_dir',
      'queue.redis_url',
      'queue.prefix',
      'admin.listen',
      'tokens.encryption_key',
      'log.format',
    ]);
    const running = withoutRestart(before, next);
    expect(compareConfigs(before, running)).toMatchObject({
      live: ['log.level', 'admin.token', 'admin.hosts', 'stop.grace'],
      restart: [],
    });
  });

  test('keeps the server of the ledger until a restart', () => {
    const server = { url: new Secret('postgresql://db/leads'), schema: 'leadsync_ledger', connections: 4 };
    const next = { ...before, ledgerServer: server };
    expect(compareConfigs(before, next).restart).toEqual(['ledger.url']);
    expect(withoutRestart(before, next).ledgerServer).toBeUndefined();
    const rotated = { ...before, ledgerServer: { ...server, url: new Secret('postgresql://other/leads') } };
    expect(compareConfigs(next, rotated).restart).toEqual(['ledger.url']);
  });
});
