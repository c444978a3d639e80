import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Install } from '../cli/an-install.ts';
import {
  type Answer,
  type Answers,
  type Asked,
  isAbort,
  isListing,
  isObject,
  isUploadsListing,
} from '../support/servers/storage-server.ts';
import { anAnsweringStorage } from './answering-storage.ts';

const DENIED: Answer = [403, '<Error><Code>AccessDenied</Code></Error>'];
/** More than two pages of a listing. */
const LEFT_OVERS = 5;
const PAGE = 2;

async function withStorage(answers: Answers, options: Readonly<Record<string, unknown>> = {}) {
  const storage = await anAnsweringStorage(answers);
  const nightly = { ...storage.options, every: '1d', format: 'csv', ...options };
  const install = new Install({ sinks: {}, exports: { nightly } });
  await install.listed(1);
  return { install, storage, made: () => install.run(['export', '--name', 'nightly']) };
}

describe('uploads that killed runs have left', () => {
  /** The listing of a bucket with many of them, of which some are another export's: by pages, as S3 gives it. */
  function listed(query: URLSearchParams): Answer {
    const first = Number(query.get('key-marker')?.match(/\d{4}$/)?.[0] ?? -1) + 1;
    const keys = Array.from(
      { length: LEFT_OVERS },
      (_, at) => `nightly-20261101T10${String(at).padStart(4, '0')}`,
    );
    const page = keys.slice(first, first + PAGE);
    const uploads = page.map(
      (key) => `<Upload><Key>${key}Z.csv</Key><UploadId>of-${key}</UploadId></Upload>`,
    );
    const goesOn = first + PAGE < LEFT_OVERS;
    const next = `<NextKeyMarker>${page.at(-1)}</NextKeyMarker><NextUploadIdMarker>of-${page.at(-1)}</NextUploadIdMarker>`;
    return [
      200,
      `<ListMultipartUploadsResult><IsTruncated>${goesOn}</IsTruncated>${goesOn ? next : ''}${uploads.join('')}</ListMultipartUploadsResult>`,
    ];
  }

  test('are all aborted, even those beyond the first page of their listing', async () => {
    const { made, storage } = await withStorage((asked) =>
      isUploadsListing(asked) ? listed(asked.query) : undefined,
    );
    expect(await made()).toMatchObject({ code: 0, stderr: '' });
    const ended = new Set(storage.asked.filter(isAbort).map(({ query }) => query.get('uploadId')));
    expect(ended.size).toBe(LEFT_OVERS);
  });

  test('do not fail an export if another process has aborted them first', async () => {
    const upload = '<Upload><Key>nightly-20261101T100000Z.csv</Key><UploadId>gone</UploadId></Upload>';
    const { made } = await withStorage((asked) => {
      if (isUploadsListing(asked))
        return [200, `<ListMultipartUploadsResult>${upload}</ListMultipartUploadsResult>`];
      if (isAbort(asked)) return [404, '<Error><Code>NoSuchUpload</Code></Error>'];
      return undefined;
    });
    expect(await made()).toMatchObject({ code: 0, stderr: '' });
  });
});

test.each([
  ['is no listing', '<html>Welcome</html>'],
  ['is cut off', '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>'],
  [
    'never ends',
    '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>on</NextContinuationToken></ListBucketResult>',
  ],
])('erase does not accept a listing of the bucket that %s', async (_, listing) => {
  const { install } = await withStorage((asked) => (isListing(asked) ? [200, listing] : undefined));
  const { stdout } = await install.run(['erase', '1', '--yes']);
  expect(stdout).toMatch(/NOT REACHED {2}nightly \(export to s3\): .* listing that leadsync cannot use/);
});

/** A listing of one page with these keys. */
function listingOf(...keys: readonly string[]): Answer {
  const contents = keys.map((key) => `<Contents><Key>${key}</Key><Size>3</Size></Contents>`);
  return [200, `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`];
}

test.each(['../../planted.csv', 'a/../../../planted.csv', '..', '', 'a/planted.csv'])(
  'erase does not download an object whose key leads elsewhere (%j), and says that it may contain the person',
  async (rest) => {
    const run = 'nightly-20261119T100000Z';
    const { install, storage } = await withStorage((asked) =>
      isListing(asked) ? listingOf(`${run}/_SUCCESS`, `${run}/${rest}`) : undefined,
    );
    const { stdout } = await install.run(['erase', '1', '--yes']);
    expect(stdout).toContain(`s3://exports/${run} (cannot be read, and may contain them)`);
    expect(storage.asked.filter((asked) => isObject(asked))).toEqual([]);
  },
);

describe('a storage that accepts every request and stores nothing', () => {
  const nothingKept = (listing: Answer) => (asked: Asked) => (isListing(asked) ? listing : undefined);

  test('fails an export', async () => {
    const { made, install } = await withStorage(nothingKept(listingOf()));
    const said = await made();
    expect(said).toMatchObject({ code: 1, stdout: '' });
    expect(said.stderr).toContain('accepted s3://exports/nightly-20261120T100000Z.csv, but does not list it');
    expect(readdirSync(join(install.folder, 'data', 'exports'))).not.toContain(
      'nightly-20261120T100000Z.csv',
    );
  });

  test('fails an export of several tables, which gets no _SUCCESS object', async () => {
    const { made, storage } = await withStorage(nothingKept(listingOf()), { tables: ['leads', 'polls'] });
    expect((await made()).stderr).toContain('nightly-20261120T100000Z/leads.csv, but does not list it');
    expect(storage.asked.filter(({ key }) => key.endsWith('_SUCCESS'))).toEqual([]);
  });

  test('fails an export even if it stores a part of the file', async () => {
    let sent = false;
    const { made } = await withStorage((asked) => {
      sent ||= asked.method === 'PUT';
      return sent && isListing(asked) ? listingOf('nightly-20261120T100000Z.csv') : undefined;
    });
    expect((await made()).stderr).toContain('nightly-20261120T100000Z.csv, but lists 3 bytes of');
  });

  test('fails its check', async () => {
    const { install } = await withStorage(nothingKept(listingOf()));
    expect((await install.run(['check'])).stdout).toMatch(/FAILED {2}export nightly: .* does not list it/);
  });
});

test('an export that may not remove its older files does not write its file again with each retry', async () => {
  const { install, made, storage } = await withStorage(
    ({ method, query }) => (method === 'DELETE' && !query.has('uploadId') ? DENIED : undefined),
    { keep: 1 },
  );
  const codes: number[] = [];
  for (let at = 0; at < 4; at += 1) {
    codes.push((await made()).code);
    install.clock.jump(1_000);
  }
  expect(codes).toEqual([0, 1, 1, 1]);
  expect(storage.asked.filter(({ method }) => method === 'PUT')).toHaveLength(2);
});

test('check tests every right that a run needs', async () => {
  const { install } = await withStorage((asked) => (isUploadsListing(asked) ? DENIED : undefined));
  expect((await install.run(['check'])).stdout).toMatch(
    /FAILED {2}export nightly: .*s3:ListBucketMultipartUploads/,
  );
});

const code = (name: string) => `<Error><Code>${name}</Code><Message>canary-message</Message></Error>`;

test.each<[string, Answer, string]>([
  ['another region, without a word', [301, ''], 'is in another region (301).\nCorrect `region`'],
  ['another region', [400, code('IllegalLocationConstraintException')], 'is in another region'],
  ['a web page', [404, '<html><p>canary-page</html>'], 'answered 404 (no code).\nCheck that `endpoint`'],
  ['a proxy', [503, 'canary-page'], 'answered 503 (no code).\nIf this persists'],
  ['too many requests', [503, code('SlowDown')], 'asks for fewer requests (SlowDown).\nIf this persists'],
  ['a code that every object has', [400, code('constructor')], 'answered 400 (constructor).\nCheck that'],
  ['a code that is a sentence', [400, code('canary sentence')], 'answered 400 (no code).\nCheck that'],
])('the error for %s has the next step, and no text of the answer', async (_, answer, message) => {
  const { install } = await withStorage((asked) => (isUploadsListing(asked) ? answer : undefined));
  const { code, stderr } = await install.run(['export', '--name', 'nightly']);
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(stderr).not.toMatch(/canary|retries/);
});

test.each([
  [{ access_key_id: 'canary\nid' }, 'cannot be used with these keys: they contain an invalid character'],
  [{ region: 'eu west/1' }, 'exports.nightly.region: must be a region such as eu-central-1'],
])('the address %j is reported as wrong', async (options, message) => {
  const { made } = await withStorage(() => undefined, options);
  const said = await made();
  expect(said.stderr).toContain(message);
  expect(said.stderr).not.toContain('canary');
});
