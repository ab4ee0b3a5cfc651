import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Server } from '@grpc/grpc-js';

/** Adds `grpc.reflection.v1` and `v1alpha` for the schema in `proto/`; loads it only when asked for. */
export async function addReflection(server: Server): Promise<void> {
  const { ReflectionService } = await import('@grpc/reflection');
  const { loadSync } = await import('@grpc/proto-loader');
  const root = fileURLToPath(new URL('../../proto', import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.proto'),
  );
  const schema = loadSync(files, { includeDirs: [root], keepCase: true });
  new ReflectionService(schema).addToServer(server);
}
