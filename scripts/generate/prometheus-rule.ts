import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** Returns the rules of config/monitoring/alerts.yaml as a PrometheusRule, which the Prometheus Operator reads. */
export function prometheusRule(): object {
  const { groups } = parse(
    readFileSync(new URL('../../config/monitoring/alerts.yaml', import.meta.url), 'utf8'),
  );
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'leadsync', labels: { 'app.kubernetes.io/name': 'leadsync' } },
    spec: { groups },
  };
}
