import { describe, expect, test } from 'vitest';
import { aSource, failureOf } from './a-source.ts';
import { aRawService, sends } from './raw-service.ts';

describe('a refusal of the token endpoint', () => {
  test.each(['constructor', '__proto__', 'made_up'])(
    'with the error code %s is one that polls back off from',
    async (error) => {
      for (const status of [400, 401]) {
        const service = await aRawService(sends('[]'), { status, body: { error } });
        const { error: failure } = await failureOf(aSource(service).source);
        expect(failure.code).toBe('credentials');
        expect(failure.message).toContain(`refuses the request (${error}, `);
        expect(failure.hint).toContain('See whether token_path');
      }
    },
  );
});
