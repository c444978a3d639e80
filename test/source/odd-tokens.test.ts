import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { aSource, failureOf, read } from './a-source.ts';
import { A_TOKEN, aRawService, sends } from './raw-service.ts';

describe('a refusal of the token endpoint', () => {
  test.each(['constructor', '__proto__', 'made_up'])(
    'the error code %s makes polls back off',
    async (error) => {
      for (const status of [400, 401]) {
        const service = await aRawService(sends('[]'), { status, body: { error } });
        const { error: failure } = await failureOf(aSource(service).source);
        expect(failure.code).toBe('credentials');
        expect(failure.message).toContain(`refuses the request (${error}, `);
        expect(failure.hint).toContain("Check the source's token_path");
      }
    },
  );
});

describe('a token', () => {
  test.each([
    [
      'an id_token, as of OpenID Connect',
      { id_token: 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkIn0.c2ln' },
    ],
    ['an empty refresh token', { refresh_token: '' }],
    ['an empty scope', { scope: '' }],
    ['an empty lifetime', { expires_in: '' }],
  ])('a token beside %s is used', async (_, more) => {
    const service = await aRawService(sends('[]'), { body: { ...A_TOKEN, ...more } });
    expect((await read(aSource(service).source)).ids).toEqual([]);
  });

  test.each([-5, '-5', 'abc', true, 'NaN'])(
    'a token with a lifetime of %j is invalid',
    async (expires_in) => {
      const service = await aRawService(sends('[]'), { body: { ...A_TOKEN, expires_in } });
      expect((await failureOf(aSource(service).source)).error.code).toBe('protocol');
    },
  );

  test.each(['a\nb: c', 'a b', 'ä€', 'a\u0000b', ' '])(
    'a token with the text %j, which no header can contain, is invalid',
    async (access_token) => {
      const service = await aRawService(sends('[]'), { body: { ...A_TOKEN, access_token } });
      const { source, dataDir } = aSource(service);
      expect((await failureOf(source)).error.code).toBe('protocol');
      expect(readdirSync(join(dataDir, 'tokens'))).not.toContain('main.json');
    },
  );
});
