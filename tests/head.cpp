// Nothing: the target whose precompiled header all tests share needs a source (ci/cmake/hopbench.cmake).
