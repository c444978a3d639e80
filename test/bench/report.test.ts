import { describe, expect, test } from 'vitest';
import { chartOf } from '../../bench/report/chart.ts';
import { withMeasurements } from '../../bench/report/document.ts';
import { reportSchema, type Series } from '../../bench/report/report.ts';
import { median, percentile, spread } from '../../bench/report/statistics.ts';
import { tableOf } from '../../bench/report/table.ts';
import { verdicts } from '../../bench/report/verdict.ts';
import { number } from '../../bench/report/wording.ts';
import { aFigure, aReport } from './a-report.ts';

describe('statistics', () => {
  test.each([
    [[3, 1, 2], 2],
    [[4, 1, 2, 3], 2.5],
    [[10, 9, 100], 10],
    [[7], 7],
  ])('the median of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  test('a percentile lies between its two neighbours in proportion', () => {
    const values = Array.from({ length: 101 }, (_, index) => 100 - index);
    expect(percentile(values, 99)).toBe(99);
    expect(percentile([0, 10], 99)).toBeCloseTo(9.9);
    expect(percentile([5, 1], 0)).toBe(1);
  });

  test('a spread has the minimum and the maximum beside the median', () => {
    expect(spread([2, 9, 1])).toEqual({ median: 2, min: 1, max: 9 });
  });

  test('no values have no median', () => {
    expect(() => median([])).toThrow(RangeError);
  });
});

describe('a verdict', () => {
  const plain = { name: 'plain script', values: [4, 4, 4] };

  test.each([
    ['at most', 0.5, true],
    ['at most', 0.49, false],
    ['at least', 0.5, true],
    ['at least', 0.51, false],
  ] as const)('%s %d times the reference, when it is half of it: %s', (is, limit, met) => {
    const figure = aFigure({ references: [plain], aims: [{ is, limit, of: 'plain script' }] });
    expect(verdicts(figure)).toMatchObject([{ ratio: 0.5, met }]);
  });

  test('compares medians, so that one slow run does not decide', () => {
    const figure = aFigure({
      values: [1, 1, 900],
      references: [plain],
      aims: [{ is: 'at most', limit: 0.3, of: 'plain script' }],
    });
    expect(verdicts(figure)[0]?.met).toBe(true);
  });

  test('of an aim in its own unit depends only on the figure', () => {
    const [met] = verdicts(aFigure({ references: [plain], aims: [{ is: 'at most', limit: 2 }] }));
    const [missed] = verdicts(aFigure({ aims: [{ is: 'at most', limit: 1.9 }] }));
    expect(met).toMatchObject({ reference: plain, ratio: 0.5, met: true });
    expect(missed).toMatchObject({ reference: undefined, met: false });
  });

  test('is open if the reference could not do the work', () => {
    const failed = { name: 'plain script', values: [], cannot: 'it fails' };
    const aims = [{ is: 'at most' as const, limit: 1, of: 'plain script' }];
    expect(verdicts(aFigure({ references: [failed], aims }))).toMatchObject([
      { ratio: undefined, met: undefined },
    ]);
  });

  test('exists for every reference and every aim', () => {
    const references = [plain, { name: 'floor', values: [1] }];
    const aims = [
      { is: 'at most' as const, limit: 3, of: 'floor' },
      { is: 'at most' as const, limit: 5 },
    ];
    expect(verdicts(aFigure({ references, aims })).map(({ met }) => met)).toEqual([true, true]);
    expect(verdicts(aFigure({ aims: aims.slice(1) }))).toHaveLength(1);
    expect(verdicts(aFigure())).toHaveLength(1);
  });
});

describe('the table', () => {
  const references = [
    { name: 'plain script', values: [4, 4, 4] },
    { name: 'floor', values: [], cannot: 'it fails' },
  ];
  const figure = aFigure({ references, aims: [{ is: 'at most', limit: 0.1, of: 'plain script' }] });

  test('has for each figure what was measured, the reference, and whether the aim is met', () => {
    const lines = tableOf(aReport([figure])).split('\n');
    const line = lines.find((text) => text.includes('plain script'));
    expect(line?.split(/ {2,}/)).toEqual([
      '4',
      'wall',
      '2 s',
      '1 … 3',
      'plain script',
      '4 s',
      '0.5',
      'at most 0.1 ×',
      'NO',
    ]);
    expect(lines.find((text) => text.includes('floor'))).toContain('it fails');
  });

  test('aligns its columns', () => {
    const wide = aFigure({ name: 'a figure with a long name', references });
    const lines = tableOf(aReport([figure, wide])).split('\n');
    const places = lines.map((line) => line.indexOf('plain script')).filter((place) => place >= 0);
    expect(new Set(places).size).toBe(1);
  });

  test('marks a quick run, and names the machine', () => {
    expect(tableOf(aReport([figure], { quick: true }))).toContain('QUICK');
    expect(tableOf(aReport([figure]))).not.toContain('QUICK');
    expect(tableOf(aReport([figure]))).toContain('A processor, 2 cores');
  });

  test.each([
    [0, '0'],
    [0.12345, '0.123'],
    [12.345, '12.3'],
    [99.96, '100'],
    [1234.5, '1,235'],
    [1_000_000, '1,000,000'],
    [-3.4567, '-3.46'],
  ])('writes %d as %s', (value, written) => {
    expect(number(value)).toBe(written);
  });
});

describe('the document', () => {
  const marks = [
    '<!-- measured: begin (npm run bench -- --write-docs writes the text between these marks) -->',
    '<!-- measured: end -->',
  ];
  const page = `# Title\n\n${marks[0]}\n\nold figures\n\n${marks[1]}\n\nthe end\n`;

  test('gets the figures between its markers, and keeps the rest', () => {
    const written = withMeasurements(page, aReport([aFigure({ name: 'a|b' })]));
    expect(written).toMatch(/^# Title/);
    expect(written).toMatch(/the end\n$/);
    expect(written).not.toContain('old figures');
    expect(written).toContain('### 4. Some work');
    expect(written).toContain('| a\\|b | 2 s |');
    expect(written).toContain('A note.');
  });

  test('is the same when the same figures are written again', () => {
    const once = withMeasurements(page, aReport([aFigure()]));
    expect(withMeasurements(once, aReport([aFigure()]))).toBe(once);
  });

  test('counts the aims that are met', () => {
    const aims = [
      { is: 'at most' as const, limit: 5 },
      { is: 'at most' as const, limit: 1 },
    ];
    expect(withMeasurements(page, aReport([aFigure({ aims })]))).toContain('| 4 | Some work | 1 of 2 |');
  });

  test('without markers is an error, and does not change', () => {
    expect(() => withMeasurements('# Title\n', aReport([]))).toThrow('lacks the marks');
  });
});

describe('a chart', () => {
  const line = (name: string, values: readonly number[]): Series => ({
    chart: 'memory',
    name,
    points: values.map((value, index) => ({ leads: 10 ** (index + 3), values: [value, value * 2] })),
  });

  test('has a line through every series, and its name', () => {
    const svg = chartOf([line('leadsync', [10, 20, 30]), line('<other>', [5, 6])], {
      title: 'T & t',
      unit: 'MB',
    });
    expect(svg.match(/<polyline/g)).toHaveLength(2);
    expect(svg).toContain('>leadsync</text>');
    expect(svg).toContain('>&lt;other></text>');
    expect(svg).toContain('>T &amp; t</text>');
    expect(svg.match(/<circle/g)).toHaveLength(5);
  });

  test('keeps everything inside its frame', () => {
    const svg = chartOf([line('leadsync', [0.5, 99_999, 3])], { title: 'T', unit: 'MB' });
    const heights = [...svg.matchAll(/ (?:y|cy|y1|y2)="([^"]+)"/g)].map(([, y]) => Number(y));
    const widths = [...svg.matchAll(/ (?:x|cx|x1|x2)="([^"]+)"/g)].map(([, x]) => Number(x));
    expect(heights.every((y) => y >= 0 && y <= 380)).toBe(true);
    expect(widths.every((x) => x >= 0 && x <= 720)).toBe(true);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  test('draws larger values higher', () => {
    const svg = chartOf([line('leadsync', [1, 50, 100])], { title: 'T', unit: 'MB' });
    const heights = [...svg.matchAll(/cy="([^"]+)"/g)].map(([, y]) => Number(y));
    expect(heights).toEqual(heights.toSorted((a, b) => b - a));
  });

  test('leaves out a program that could not do the work', () => {
    const gone: Series = { chart: 'memory', name: 'plain script', points: [{ leads: 1_000, values: [] }] };
    const svg = chartOf([line('leadsync', [1]), gone], { title: 'T', unit: 'MB' });
    expect(svg.match(/<circle/g)).toHaveLength(1);
  });
});

test('a report is read back from its JSON unchanged, and another file is rejected', () => {
  const report = aReport([aFigure({ references: [{ name: 'floor', values: [1] }] })]);
  expect(reportSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report);
  expect(reportSchema.safeParse({ ...report, rows: [{}] }).success).toBe(false);
});
