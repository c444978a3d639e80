/** A stage of a pipeline. */
export interface Stage {
  readonly id: string;
  readonly label: string;
}

/** A pipeline of deals or leads. */
export interface Pipeline {
  readonly id: string;
  readonly label: string;
  readonly stages: readonly Stage[];
}

/** Objects that go through a pipeline, and the properties that say where a record is. */
export const pipelineProperties = {
  deals: { pipeline: 'pipeline', stage: 'dealstage' },
  leads: { pipeline: 'hs_pipeline', stage: 'hs_pipeline_stage' },
} as const;

/** The pipelines that a new account has; HubSpot takes the first if a record names none. */
export const standardPipelines: Readonly<Record<keyof typeof pipelineProperties, readonly Pipeline[]>> = {
  deals: [
    pipeline('default', 'Sales Pipeline', [
      'appointmentscheduled',
      'qualifiedtobuy',
      'presentationscheduled',
      'decisionmakerboughtin',
      'contractsent',
      'closedwon',
      'closedlost',
    ]),
    pipeline('7654321', 'Second Pipeline', ['7654322', '7654323']),
  ],
  leads: [
    pipeline('lead-pipeline-id', 'Lead pipeline', [
      'new-stage-id',
      'attempting-stage-id',
      'connected-stage-id',
      'qualified-stage-id',
      'unqualified-stage-id',
    ]),
  ],
};

function pipeline(id: string, label: string, stageIds: readonly string[]): Pipeline {
  return { id, label, stages: stageIds.map((stageId) => ({ id: stageId, label: stageId })) };
}
