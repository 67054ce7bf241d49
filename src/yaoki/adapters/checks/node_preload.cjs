'use strict';

// Node loads this file before the code under test (NODE_OPTIONS, `environment.py`).  It makes the
// functions of node's assertion modules and of its test runner read-only: code under test that
// replaces one fails or changes nothing, however it reaches the module.  New names may be added.

const OPTION = /\s*--require\s+"(?:[^"\\]|\\.)*node_preload\.cjs"/;

function protect(library) {
  for (const key of Reflect.ownKeys(library)) {
    const held = Reflect.getOwnPropertyDescriptor(library, key);
    if (typeof held.value === 'function' && held.configurable) {
      Reflect.defineProperty(library, key, { ...held, writable: false, configurable: false });
    }
  }
}

const assert = require('assert');
protect(assert);
protect(assert.strict || assert);

if (process.env.NODE_TEST_CONTEXT || process.execArgv.includes('--test')) {
  protect(require('node:test'));
}
if (process.env.NODE_TEST_CONTEXT) {
  // A process of a single test file: nothing shows the code under test that a check runs it.
  const rest = (process.env.NODE_OPTIONS || '').replace(OPTION, '').trim();
  if (rest) process.env.NODE_OPTIONS = rest;
  else delete process.env.NODE_OPTIONS;
}
delete require.cache[__filename];
