import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Two cores: more files at once only make real servers and children slower.
    maxWorkers: 2,
  },
});
