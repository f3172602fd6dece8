# Metadata of the Debian package that `ci/package` builds.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hopbench)
set(CPACK_PACKAGE_CONTACT "hopbench authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "benchmarks distributed training protocols on unequal machines")
set(CPACK_PACKAGE_DESCRIPTION "The same source of a protocol runs in real processes and in deterministic virtual time.
Suites in TOML select models, machines, networks and protocols; results are tables.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)   # libraries and their versions, as the program is linked
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS dataset-fashion-mnist)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "librsvg2-bin, fonts-dejavu-core")
include(CPack)
