import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { CONDITIONS } from '../../src/alerts/condition.ts';
import { PROBLEM_CODES, runbookOf } from '../../src/leads/problems.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const manual = read('docs/operating.md');

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** The code blocks and code spans of a page: prose that starts a line with "leadsync" is no command. */
function codeOf(page: string): string[] {
  return [...page.matchAll(/```\w*\n([\s\S]*?)```|`([^`\n]+)`/g)].map(
    ([, block, span]) => block ?? span ?? '',
  );
}

const anchors = anchorsOf(manual);

test.each(PROBLEM_CODES)('the operating manual has the section about %s', (code) => {
  const [page, anchor = ''] = runbookOf(code).split('#');
  expect(page).toBe('docs/operating.md');
  expect(anchors).toContain(anchor);
});

test.each(CONDITIONS)('the operating manual says what the alert %s means, by its name', (condition) => {
  expect(runbookOf(condition)).toBe(`docs/operating.md#${condition.replaceAll('_', '-')}`);
  expect(manual).toContain(`\n\`${condition}\`, `);
});

test('every rule for Prometheus leads to its section of the manual', () => {
  const { groups } = parse(read('config/monitoring/alerts.yaml'));
  const rules = groups.flatMap(({ rules }: { rules: object[] }) => rules) as {
    alert: string;
    annotations: { runbook?: string; runbook_url?: string };
  }[];
  for (const { alert, annotations } of rules) {
    const [page, anchor = ''] = (annotations.runbook ?? '').split('#');
    expect([alert, page]).toEqual([alert, 'docs/operating.md']);
    expect(anchors).toContain(anchor);
    expect(manual).toContain(`\`${alert}\``);
    expect(annotations.runbook_url).toBeUndefined(); // monitors show it as a link, and a path is none
  }
});

test('the command in the head of the rules makes a link to the runbook of every path', () => {
  const [, from = '', to = ''] =
    /sed -i 's\|([^|]+)\|([^|]+)\|'/.exec(read('config/monitoring/alerts.yaml')) ?? [];
  const changed = parse(read('config/monitoring/alerts.yaml').replaceAll(from, to));
  const annotations: Record<string, string>[] = changed.groups[0].rules.map(
    (rule: { annotations: object }) => rule.annotations,
  );
  const sections = annotations.map(({ runbook_url: url = '' }) =>
    url.replace('https://leadsync.example.com/runbook/', ''),
  );
  expect(sections.filter((section) => !anchors.includes(section))).toEqual([]);
});

test('every link and every command of the manual leads somewhere', () => {
  const links = [...manual.matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)].map(([, page = '', anchor]) => {
    const file = page === '' ? 'docs/operating.md' : join('docs', page);
    const found =
      existsSync(join(root, file)) && (anchor === undefined || anchorsOf(read(file)).includes(anchor));
    return found ? undefined : `${page}#${anchor}`;
  });
  expect(links.filter((link) => link !== undefined)).toEqual([]);
  const commands = codeOf(manual).flatMap((code) =>
    [...code.matchAll(/(?:^|&& )leadsync ([a-z-]+)/gm)].map((match) => match[1] ?? ''),
  );
  expect(new Set(commands).size).toBeGreaterThan(10);
  const unknown = commands.filter((command) => !existsSync(join(root, `src/cli/commands/${command}.ts`)));
  expect(unknown).toEqual([]);
});

test('the manual says where to run each program that is not leadsync, if leadsync runs in a container', () => {
  const inContainers = /### In a container\n([\s\S]*?)\n## /.exec(manual)?.[1] ?? '';
  const blocks = [...manual.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const programs = blocks.flatMap((block) =>
    block.split('\n').flatMap((line) => /^[a-z][\w-]*/.exec(line)?.[0] ?? []),
  );
  const others = [...new Set(programs)].filter((program) => program !== 'leadsync');
  expect(others).toEqual(expect.arrayContaining(['df', 'ls', 'du', 'redis-cli']));
  expect(others.filter((program) => !inContainers.includes(`\`${program} `))).toEqual([]);
  expect(inContainers).toContain('`data_dir` is `/data`');
});
