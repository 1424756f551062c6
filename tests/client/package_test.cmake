# Installs the build tree BUILD below WORK, builds the project SOURCE against it, and runs it. The
# prefix is moved after the installation: nothing in the package may remember where it was.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first --component client)
file(RENAME ${WORK}/first ${WORK}/prefix)
set(FLAGS)
if(SANITIZE)
  set(FLAGS "-fsanitize=${SANITIZE}")
endif()
run(
  ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
  -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
run(${WORK}/prefix/bin/tokendraw --help)
