import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';

/**
 * Returns the sampler that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#general-sdk-configuration). Treats an unknown value as
 * not set, as that specification requires.
 */
export function samplerOf(env: Readonly<Record<string, string | undefined>>): Sampler {
  const name = (env['OTEL_TRACES_SAMPLER'] ?? '').toLowerCase();
  const root = rootOf(name.replace(/^parentbased_/, ''), env['OTEL_TRACES_SAMPLER_ARG']);
  return new ParentBasedSampler({ root });
}

function rootOf(name: string, argument: string | undefined): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler();
  const ratio = Number(argument || 1);
  const isRatio = name === 'traceidratio' && ratio >= 0 && ratio <= 1;
  return isRatio ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}
