# The Debian package of the server and the command: after a build of tokendrawd and tokendraw,
#   cpack --config build/release/CPackConfig.cmake -B build/package
# makes build/package/tokendraw.deb. Needs deploy/package_packages.txt.

# Beside what `cmake --install` installs, and not part of it: a Debian system's own places.
set(deploy ${PROJECT_SOURCE_DIR}/deploy)
install(TARGETS tokendrawd tokendraw RUNTIME DESTINATION bin COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${deploy}/systemd/tokendrawd.service DESTINATION lib/systemd/system
        COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${deploy}/systemd/tokendraw.tmpfiles DESTINATION lib/tmpfiles.d RENAME tokendraw.conf
        COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${deploy}/systemd/tokendraw.default DESTINATION /etc/default RENAME tokendraw
        COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${deploy}/debian/copyright
        DESTINATION share/doc/tokendraw COMPONENT debian EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/proto/tokendraw DESTINATION share/tokendraw/proto
        COMPONENT debian EXCLUDE_FROM_ALL FILES_MATCHING PATTERN *.proto)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tokendraw)
set(CPACK_PACKAGE_FILE_NAME tokendraw)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};tokendraw;debian;/")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "tokendraw maintainers <maintainers@tokendraw.example>")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "A gRPC service: the same request gives the same token, on any replica,
any CPU, in any batch.
The server tokendrawd, its systemd unit and the command tokendraw.")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${deploy}/debian/conffiles ${deploy}/debian/postinst
                                       ${deploy}/debian/prerm ${deploy}/debian/postrm)
include(CPack)
