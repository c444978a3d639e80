import {
  createTopicsV4,
  createTopicsV5,
  createTopicsV7,
  metadataV1,
  metadataV4,
  metadataV8,
  metadataV9,
  metadataV12,
  produceV3,
  produceV7,
  produceV8,
  produceV9,
  produceV11,
} from '@platformatic/kafka';

/** A version of a request in Kafka's protocol (https://kafka.apache.org/protocol). */
export interface RequestApi {
  /** The number of the request. */
  readonly key: number;
  readonly version: number;
}

/** The versions of Produce that leadsync uses, newest first. Version 3 has records with headers (Kafka 0.11). */
export const produceApis = [
  produceV11.api,
  produceV9.api,
  produceV8.api,
  produceV7.api,
  produceV3.api,
] as const;

/** The versions of Metadata, newest first. From version 4 on, a client can prevent the creation of a topic; from 8 on, it can ask for its rights. */
export const metadataApis = [
  metadataV12.api,
  metadataV9.api,
  metadataV8.api,
  metadataV4.api,
  metadataV1.api,
] as const;

/** The versions of CreateTopics, newest first. From version 4 on, brokers have defaults for partitions and replicas. */
export const createTopicsApis = [createTopicsV7.api, createTopicsV5.api, createTopicsV4.api] as const;
