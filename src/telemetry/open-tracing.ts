import type { Tracing, TracingParts } from './tracing.ts';

/**
 * Opens tracing if the environment names an endpoint, as OpenTelemetry defines
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Otherwise returns undefined and loads nothing.
 */
export async function openTracing(parts: TracingParts): Promise<Tracing | undefined> {
  const { env } = parts;
  const endpoint = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if (!endpoint || env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined;
  if ((env['OTEL_TRACES_EXPORTER'] || 'otlp') !== 'otlp') return undefined;
  const { OtelTracing } = await import('./otel-tracing.ts');
  return new OtelTracing(parts);
}
