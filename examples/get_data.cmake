# get_data: the downloader, and the tests of its parts.
find_package(CURL 7.85 REQUIRED)
find_package(LibArchive REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(CLI11 REQUIRED)

add_library(get_data_fetch STATIC get_data_fetch.cpp)
target_link_libraries(get_data_fetch PUBLIC plimsoll
                      PRIVATE CURL::libcurl LibArchive::LibArchive OpenSSL::Crypto)

add_executable(get_data get_data.cpp)
target_link_libraries(get_data PRIVATE get_data_fetch CLI11::CLI11)

if(PLIMSOLL_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(get_data_tests get_data_test.cpp)
  target_link_libraries(get_data_tests PRIVATE get_data_fetch LibArchive::LibArchive ZLIB::ZLIB
                        GTest::gtest_main)
  gtest_discover_tests(get_data_tests)
endif()
