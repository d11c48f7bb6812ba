#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A custom plugin of node-problem-detector: 0 well, 1 not well, 2 unknown, and why in one line of at
# most 80 bytes.
#
# Environment: NODE_NAME (of the pod's spec, fieldRef spec.nodeName); FABRICCTL_SERVER, for example
# the address of fabricd with certificates from a context (FABRICCTL_CONFIG, FABRICCTL_CONTEXT).
exec fabricctl --timeout 5s check node "$NODE_NAME" --exit-code=npd
